"""A tab of the browser, in which a script reads the text of the page."""

from tests.chromium import Chromium

# Returns the text that an element shows, with one space or line break between words.
PLAIN_TEXT = """
const plainText = (element) => (element?.innerText ?? "")
  .replaceAll(/[^\\S\\n]+/gu, " ").replaceAll(/ ?\\n\\s*/gu, "\\n").trim();
"""
_TEXT = f"{PLAIN_TEXT} return plainText(document.body);"


class Tab(Chromium):
    """A tab of the browser. Reading its text takes a millisecond of CPU time; WebDriver's own command takes fifty."""

    @property
    def text(self) -> str:
        """Return the text of the page."""
        return str(self.driver.execute_script(_TEXT))

    def shows(self, text: str) -> bool:
        """Whether the page shows this text."""
        return text in self.text
