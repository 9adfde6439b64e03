// Copy a text to the clipboard, and show a message.
import { showToast } from "./toast.js";

export async function copy(text, message = "Copied.") {
  try {
    await navigator.clipboard.writeText(text);
    showToast(message);
  } catch {
    showToast("The browser does not let this page copy: select the text and copy it.");
  }
}
