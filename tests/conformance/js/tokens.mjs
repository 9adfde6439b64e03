// Prints the number of tokens (by the tokenizer o200k_base) of each line of JSON on standard input.
import { createInterface } from "node:readline";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

for await (const line of createInterface({ input: process.stdin })) console.log(encode(JSON.parse(line)).length);
