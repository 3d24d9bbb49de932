"""Quantities are read as Kubernetes reads them, exactly, and hostile text is refused at once."""

import math
import time
from decimal import ROUND_CEILING, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.resources import MAX_AMOUNT, QuantityError, parse_number, parse_quantity, read_amount, write_quantity

NANO = 10**9

READ = [
    ("0", 0),
    ("-0", 0),
    ("+5", 5 * NANO),
    ("5.", 5 * NANO),
    (".5", NANO // 2),
    ("1.5", 3 * NANO // 2),
    ("1n", 1),
    ("0.1n", 1),
    ("-0.1n", -1),
    ("1u", 1000),
    ("100m", NANO // 10),
    ("2k", 2000 * NANO),
    ("1M", 10**6 * NANO),
    ("1G", NANO * NANO),
    ("1T", 10**12 * NANO),
    ("1P", 10**15 * NANO),
    ("9E", 9 * 10**18 * NANO),
    ("1Ki", 1024 * NANO),
    ("1.5Gi", 3 * 2**29 * NANO),
    ("7Ei", 7 * 2**60 * NANO),
    ("8Ei", MAX_AMOUNT * NANO),
    ("0.0000000001Ki", 103),
    ("1e3", 1000 * NANO),
    ("1E3", 1000 * NANO),
    ("1e-3", 10**6),
    ("1e-200", 1),
    ("0e400", 0),
    ("0.0000000001", 1),
    ("00012", 12 * NANO),
]


@pytest.mark.parametrize(("text", "nano"), READ, ids=[text for text, _ in READ])
def test_quantity_is_exact_and_rounded_away_from_zero_to_nano(text: str, nano: int) -> None:
    assert parse_quantity(text) == nano


REFUSED = {
    "empty": "",
    "blank": " ",
    "space before": " 5",
    "space after": "5 ",
    "line end": "5\n",
    "underscore": "1_000",
    "not a number": "NaN",
    "infinity": "Infinity",
    "minus infinity": "-inf",
    "full-width digit": "\uff15",
    "arabic digit": "\u0665",
    "superscript": "\u00b2",
    "capital kilo": "1K",
    "two suffixes": "1e3Ki",
    "exponent without digits": "1e",
    "suffix alone": "Ki",
    "exponent alone": "e3",
    "two signs": "--1",
    "unicode minus": "\u22121",
    "hexadecimal": "0x10",
    "comma": "1,5",
    "two dots": "1.2.3",
    "dot alone": ".",
    "null byte": "5\x00",
    "too long": "1" * 65,
    "huge exponent": "1e400",
    "exponent of many digits": "1e" + "9" * 60,
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_invalid_quantity_text_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(text)


def test_refusal_has_the_given_text_and_the_expected_form() -> None:
    with pytest.raises(QuantityError) as refused:
        read_amount("memory", "16GB")
    assert str(refused.value) == "'16GB' is not a quantity; write for example 4, 500m, 1.5 or 16Gi"


@pytest.mark.parametrize(
    ("quantity", "message"),
    [
        (True, "True is not a quantity; write a whole number or text such as 500m or 16Gi"),
        (None, "None is not a quantity; write a whole number or text such as 500m or 16Gi"),
        (math.nan, "'nan' is not a quantity; write for example 4, 500m, 1.5 or 16Gi"),
        (math.inf, "'inf' is not a quantity; write for example 4, 500m, 1.5 or 16Gi"),
        (2**63, "9223372036854775808 is out of range; a quantity is at least 0 and below 2^63 base units"),
        (10**5000, "a number of 16610 bits is out of range; a quantity is at least 0 and below 2^63 base units"),
        (1e300, "1e+300 is out of range; a quantity is at least 0 and below 2^63 base units"),
        ("1e999999999", "1e999999999 is out of range; a quantity is at least 0 and below 2^63 base units"),
        ("9e18k", "'9e18k' is not a quantity; write for example 4, 500m, 1.5 or 16Gi"),
        ("10E", "10E is out of range; a quantity is at least 0 and below 2^63 base units"),
    ],
    ids=["bool", "null", "nan", "infinity", "2^63", "5000 digits", "1e300", "a billion digits", "two scales", "10E"],
)
def test_invalid_number_is_refused_with_its_text(quantity: object, message: str) -> None:
    with pytest.raises(QuantityError) as refused:
        read_amount("memory", quantity)  # type: ignore[arg-type]
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("resource", "quantity", "amount"),
    [
        ("cpu", "1", 1000),
        ("cpu", 2, 2000),
        ("cpu", 0.5, 500),
        ("cpu", "1n", 1),
        ("cpu", "1.0001", 1001),
        ("cpu", "-0.5", -500),
        ("memory", "1Gi", 2**30),
        ("memory", "1m", 1),
        ("memory", "1500m", 2),
        ("memory", "8Ei", MAX_AMOUNT),
        ("nvidia.com/gpu", "8", 8),
        ("nvidia.com/gpu", "-0", 0),
    ],
)
def test_amount_is_in_base_units_rounded_up(resource: str, quantity: str | int | float, amount: int) -> None:
    assert read_amount(resource, quantity) == amount


def test_offered_amount_is_rounded_down() -> None:
    assert read_amount("memory", "1500m", up=False) == 1
    assert read_amount("cpu", "1.0009", up=False) == 1000


def test_hostile_text_is_refused_quickly() -> None:
    started = time.process_time()
    for text in ("9" * 10**6, "1e" + "9" * 10**6, "." * 10**6, "1" * 60 + "e99"):
        with pytest.raises(QuantityError):
            parse_quantity(text)
    assert time.process_time() - started < 0.5


@given(
    st.integers(-(10**20), 10**20),
    st.integers(0, 12),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "e3", "E-2", "e-9"]),
)
def test_decimal_quantities_agree_with_decimal_arithmetic(digits: int, places: int, suffix: str) -> None:
    scales = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
    power = scales[suffix] if suffix in scales else int(suffix[1:])
    text = format(Decimal(digits).scaleb(-places), "f")
    with localcontext(prec=200):
        nano = Decimal(abs(digits)).scaleb(power + 9 - places).to_integral_value(ROUND_CEILING)
        expected = int(nano.copy_sign(digits))
    assert parse_quantity(text + suffix) == expected


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_refused_with_a_printable_message(text: str) -> None:
    try:
        answer = str(parse_number(text))
    except QuantityError as error:
        answer = str(error)
    assert answer.isprintable()


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, MAX_AMOUNT // 1000))
def test_written_amount_is_read_back_equal(resource: str, amount: int) -> None:
    assert read_amount(resource, write_quantity(resource, amount)) == amount


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 0, "0"),
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 0, "0"),
        ("memory", 2**30, "1Gi"),
        ("memory", 3 * 2**19, "1536Ki"),
        ("memory", 1000, "1000"),
        ("memory", 2 * 10**9, "2G"),
        ("memory", 512 * 10**6, "512M"),
        ("memory", 1000 * 2**20, "1000Mi"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("nvidia.com/gpu", 1024, "1024"),
    ],
)
def test_amount_is_formatted_with_a_usual_suffix(resource: str, amount: int, text: str) -> None:
    assert write_quantity(resource, amount) == text
