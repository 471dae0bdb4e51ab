import {StringDecoder} from 'node:string_decoder';
import type {CommandIo} from './context.js';

/** The maximum length of a line; longer ones are split. */
const maxLineLength = 64 << 10;

/** Reads lines of input. On a terminal the input is echoed and can be edited until the line ends. */
export async function* lineReader(io: CommandIo): AsyncGenerator<string, void, undefined> {
  if (!io.stdin) return;
  const decoder = new StringDecoder('utf8');
  let line = '';
  let escape = false;
  for await (const chunk of io.stdin as AsyncIterable<Buffer>) {
    for (const character of decoder.write(chunk)) {
      if (!io.tty) {
        if (character !== '\n' && line.length < maxLineLength) line += character;
        else yield* takeLine();
        continue;
      }
      if (escape) escape = !/[A-Za-z~]/.test(character);
      else if (character === '\u001b') escape = true;
      else if (character === '\r' || character === '\n' || line.length >= maxLineLength) {
        await io.out('\n');
        yield* takeLine();
      } else if (character === '\u0003') {
        await io.out('^C\n');
        line = '';
        yield '';
      } else if (character === '\u0004') {
        if (line === '') return;
      } else if (character === '\u007f' || character === '\b') {
        if (line !== '') await io.out('\b \b');
        line = line.slice(0, -1);
      } else if (character >= ' ' || character === '\t') {
        line += character;
        await io.out(character);
      }
    }
  }
  if (line !== '') yield line;

  function* takeLine(): Iterable<string> {
    const whole = line;
    line = '';
    yield whole;
  }
}
