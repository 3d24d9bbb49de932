"""How answers are said to people: amounts, times and sentences, from plain data. Pure; the engine has every number."""
