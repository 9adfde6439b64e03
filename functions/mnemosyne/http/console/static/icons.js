// Icons: symbols of one hidden SVG, drawn with the colour of the text.
import { html } from "./vendor/htm-preact.js";

export const Icon = ({ name, small = false }) => html`<svg class=${small ? "i i-s" : "i"} aria-hidden="true">
  <use href=${`#i-${name}`} /></svg>`;

const symbol = (name, body) => html`<symbol id=${`i-${name}`} viewBox="0 0 20 20">${body}</symbol>`;

const first = () => html`
  ${symbol("alert", html`<path d="M10 3.4 17.3 16H2.700zM10 8.200v3.600M10 13.900h.01" />`)}
  ${symbol("arrow", html`<path d="M4 10h12m0 0-4.5-4.500M16 10l-4.5 4.5" />`)}
  ${symbol("chart", html`<path d="M3.5 16.5h13M6 13.5v-4M10 13.5v-9M14 13.5v-6" />`)}
  ${symbol("check", html`<path d="m4.5 10.5 3.7 3.7 7.3-8" />`)}
  ${symbol("clock", html`<circle cx="10" cy="10" r="6.75" /><path d="M10 6.2V10l2.6 1.8" />`)}
  ${symbol("copy", html`
    <rect x="7" y="7" width="9.5" height="9.5" rx="1.5" /><path d="M13 4.700c0-.7-.5-1.2-1.2-1.200H4.700c-.7
    0-1.2.5-1.2 1.200v7.100c0 .7.5 1.2 1.2 1.2" />`)}
  ${symbol("down", html`<path d="m5.5 8 4.5 4.500L14.5 8" />`)}
  ${symbol("download", html`
    <path d="M10 3.500v9.200m0 0L6.5 9.200M10 12.700l3.5-3.500M3.5 13v2.200c0 .7.6 1.3 1.3 1.300h10.400c.7 0
    1.3-.6 1.3-1.300V13" />`)}
  ${symbol("edit", html`<path d="m12.5 4.5 3 3-8.3 8.3-3.7.7.7-3.700zM11 6l3 3" />`)}
  ${symbol("file", html`
    <path d="M5 3.500h6.200L15.5 8v8c0 .3-.2.5-.5.500H5a.5.5 0 0 1-.5-.5V4c0-.3.2-.5.5-.5zM11 3.700V8h4.3" />`)}
  ${symbol("half", html`
    <circle cx="10" cy="10" r="6.5" /><path d="M10 3.500v13a6.5 6.5 0 0 0 0-13z" fill="currentColor" />`)}
  ${symbol("help", html`
    <circle cx="10" cy="10" r="6.75" /><path d="M8 8.100c.1-1 .9-1.7 2-1.700s2 .7 2 1.700c0 1.3-2 1.5-2
    2.900M10 13.400h.01" />`)}
  ${symbol("info", html`<circle cx="10" cy="10" r="6.75" /><path d="M10 9.300v4M10 6.700h.01" />`)}
  ${symbol("left", html`<path d="m12 5.5-4.5 4.5 4.5 4.5" />`)}
  ${symbol("link", html`
    <path d="M8.3 11.700a3.2 3.2 0 0 0 4.6 0l3-3a3.25 3.25 0 0 0-4.6-4.600l-1 1M11.7 8.300a3.2 3.2 0 0 0-4.6
    0l-3 3a3.25 3.25 0 0 0 4.6 4.600l1-1" />`)}
  ${symbol("list", html`<path d="M4 5.500h12M4 10h12M4 14.500h12" />`)}
  ${symbol("more", html`<path d="M4.5 10h.01M10 10h.01M15.5 10h.01" stroke-width="2.6" />`)}
  ${symbol("out", html`<path d="M8 3.500H4.500v13H8M8 10h9m0 0-3.2-3.200M17 10l-3.2 3.2" />`)}`;

const second = () => html`
  ${symbol("plus", html`<path d="M10 4v12M4 10h12" />`)}
  ${symbol("pulse", html`<path d="M2.5 10.5h3.2L8 4.5l4 11 2.3-5h3.2" />`)}
  ${symbol("retry", html`<path d="M15.8 8.200A6.2 6.2 0 1 0 16.2 11M16.2 4.200v4h-4" />`)}
  ${symbol("right", html`<path d="m8 5.5 4.5 4.500L8 14.5" />`)}
  ${symbol("same", html`<path d="M4 7.500h12M4 12.500h12" />`)}
  ${symbol("search", html`<circle cx="8.75" cy="8.75" r="5.25" /><path d="m12.7 12.7 4 4" />`)}
  ${symbol("sort", html`<path d="M6 4v12m0 0-2.5-2.500M6 16l2.5-2.500M11 5.500h6M11 10h4.500M11 14.500h3" />`)}
  ${symbol("stack", html`<path d="m10 3.2 7 3.6-7 3.6-7-3.6z" /><path d="m3 10.2 7 3.6 7-3.6M3 13.5l7 3.6 7-3.6" />`)}
  ${symbol("stop", html`<rect x="5.5" y="5.5" width="9" height="9" rx="1" />`)}
  ${symbol("swap", html`<path d="M3.5 7h11m0 0-3-3m3 3-3 3M16.5 13h-11m0 0 3-3m-3 3 3 3" />`)}
  ${symbol("tag", html`<path d="M3.5 9.3V4.2c0-.4.3-.7.7-.7h5.1l7.2 7.2-5.8 5.8z" /><circle cx="7" cy="7" r=".9" />`)}
  ${symbol("thread", html`
    <circle cx="5" cy="5" r="1.6" /><circle cx="5" cy="15" r="1.6" /><path d="M5 6.800v6.400M9 5h7.500M9
    10h5M9 15h7.5" />`)}
  ${symbol("thumbdown", html`
    <path d="m13.5 10.8-3.1 6.200c-1.1 0-1.9-.8-1.9-1.900v-2.900H4.800c-1
    0-1.7-.9-1.5-1.800l1-5.300c.1-.8.8-1.3 1.5-1.300h7.700zm0 0h2.900v-7h-2.9" />`)}
  ${symbol("transfer", html`<path d="M6.5 3.5v10m0 0-3-3m3 3 3-3M13.5 16.5v-10m0 0-3 3m3-3 3 3" />`)}
  ${symbol("trash", html`
    <path d="M4 5.800h12M8 5.500V4c0-.3.2-.5.5-.5h3c.3 0 .5.2.5.5v1.500M5.5 6l.7 9.600c0 .5.4.9.9.900h5.800c.5
    0 .9-.4.9-.900l.7-9.600M8.5 9v4.500M11.5 9v4.5" />`)}
  ${symbol("up", html`
    <path d="M6.5 9.2 9.6 3c1.1 0 1.9.8 1.9 1.900v2.900h3.700c1 0 1.7.9 1.5 1.800l-1 5.300c-.1.8-.8 1.3-1.5
    1.300H6.500zm0 0H3.600v7h2.9" />`)}
  ${symbol("upload", html`
    <path d="M10 13V3.800m0 0L6.5 7.300M10 3.800l3.5 3.500M3.5 13v2.200c0 .7.6 1.3 1.3 1.300h10.400c.7 0
    1.3-.6 1.3-1.300V13" />`)}
  ${symbol("user", html`<circle cx="10" cy="7" r="3" /><path d="M4 16.8c.7-3 3-4.6 6-4.6s5.3 1.6 6 4.6" />`)}
  ${symbol("x", html`<path d="m5.5 5.5 9 9m0-9-9 9" />`)}`;

export const Icons = () => html`<svg hidden aria-hidden="true">${first()}${second()}</svg>`;

// The icon of the server. It is hidden from screen readers, because the name of the server is next to it.
export const Logo = () => html`<svg viewBox="0 0 48 48" aria-hidden="true">
  <rect width="48" height="48" rx="10" fill="#27386b" />
  <path d="M11 35V14l13 12 13-12v21" fill="none" stroke="#fff" stroke-width="4" stroke-linejoin="round"
    stroke-linecap="round" />
  <circle cx="24" cy="12" r="3" fill="#f2b84b" /></svg>`;
