// How many tokens of o200k_base each line of JSON on standard input has.
import { createInterface } from "node:readline";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

for await (const line of createInterface({ input: process.stdin })) console.log(encode(JSON.parse(line)).length);
