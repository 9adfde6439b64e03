// Rules for JavaScript: the console, the MCP App and their tests.
import js from "@eslint/js";
import stylistic from "@stylistic/eslint-plugin";
import globals from "globals";

const MUTABLE_GLOBAL = "Keep state in an object or pass it as a parameter, so that tests can make their own.";
const FOCUS_EVENTS = "Write onfocusin and onfocusout. Preact takes other names for events that do not exist.";

export default [
  { ignores: ["**/vendor/", "**/node_modules/", "**/.*/", "tests/terraform/"] },
  js.configs.recommended,
  {
    plugins: { "@stylistic": stylistic },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@stylistic/max-len": ["error", { code: 120 }],
      "@stylistic/quotes": ["error", "double", { avoidEscape: true, allowTemplateLiterals: "avoidEscape" }],
      "@stylistic/semi": "error",
      "eqeqeq": "error",
      "max-lines-per-function": ["error", { max: 50 }],
      "max-lines": ["error", { max: 300 }],
      "no-sequences": ["error", { allowInParentheses: false }],
      "no-shadow": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_$" }],
      "no-var": "error",
      "prefer-const": "error",
      "no-restricted-syntax": [
        "error",
        { selector: "Program > VariableDeclaration[kind='let']", message: MUTABLE_GLOBAL },
        { selector: "TemplateElement[value.raw=/ onFocus(In|Out)=/]", message: FOCUS_EVENTS },
        { selector: "Program > ExportNamedDeclaration > VariableDeclaration[kind='let']", message: MUTABLE_GLOBAL },
      ],
    },
  },
  { files: ["functions/**/*.js"], languageOptions: { globals: globals.browser } },
  {
    files: ["tests/conformance/js/*.mjs"], // scripts that run once
    rules: { "no-restricted-syntax": "off" },
  },
  {
    files: ["tests/**/*.{js,mjs}", "eslint.config.js"],
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
  },
];
