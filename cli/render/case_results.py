"""Results of cases as text, as JUnit's XML, and as annotations of GitHub."""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as Xml

from cli.cases.differences import CaseResult


def text(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield a line for each case, and those that say what differs."""
    for each in results:
        yield f"{'FAIL' if each.differences else 'ok  '}  {each.file}:{each.line}  {each.name}"
        yield from (f"        {difference}" for difference in each.differences)
    yield summary(results)


def summary(results: Sequence[CaseResult]) -> str:
    """Return how many cases passed and failed."""
    failed = sum(bool(each.differences) for each in results)
    return f"{len(results)} case{'' if len(results) == 1 else 's'}: {len(results) - failed} passed, {failed} failed"


def junit(results: Sequence[CaseResult]) -> str:
    """Return the results as a document of JUnit, a suite for each file."""
    root = Xml.Element("testsuites", {"name": "quotree", **_counts(results)})
    for file in dict.fromkeys(each.file for each in results):
        own = [each for each in results if each.file == file]
        suite = Xml.SubElement(root, "testsuite", {"name": file, **_counts(own)})
        for each in own:
            case = Xml.SubElement(suite, "testcase", classname=file, name=each.name, file=file, line=str(each.line))
            if each.differences:
                failure = Xml.SubElement(case, "failure", message=each.differences[0])
                failure.text = "\n".join(each.differences)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True)


def _counts(results: Sequence[CaseResult]) -> dict[str, str]:
    return {"tests": str(len(results)), "failures": str(sum(bool(each.differences) for each in results))}
