// Appearance and the switch of single-key shortcuts: the only values that the console keeps in localStorage.
import { observable } from "./observable.js";

const THEMES = ["", "light", "dark"];
export const THEME_NAMES = { "": "as the system", light: "light", dark: "dark" };

function read(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return ""; // storage is not available
  }
}

function write(name, value) {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch {
    // The browser refuses to store the choice, so the choice lasts only until the tab is closed.
  }
}

export const theme = observable(THEMES.includes(read("theme")) ? read("theme") : "");
export const hasSingleKeys = observable(read("single-keys") !== "off");

// The theme that comes after the theme `name` when a person clicks on the button for the appearance.
export const themeAfter = (name) => THEMES[(THEMES.indexOf(name) + 1) % THEMES.length];

export function setTheme(name) {
  theme.set(name);
  write("theme", name);
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

export function setSingleKeys(isOn) {
  hasSingleKeys.set(isOn);
  write("single-keys", isOn ? "" : "off");
}
