import type {LineFormat} from './text-format.js';

const withVerbosity = /^\{"ts":[^,]*,"logger":"(?:[^"\\]|\\.)*","msg":"(?:[^"\\]|\\.)*","v":/;

/** Whether a line of this format is about an error. */
export const isJsonError = (line: string): boolean => !withVerbosity.test(line);

/**
 * `{"ts":1624215726270.3562,"logger":"source","msg":"message","v":0,"key":"value"}`: time in ms; `v` is absent for
 * errors.
 */
export const jsonFormat: LineFormat = {
  field: (name, json) => `,${JSON.stringify(name)}:${json}`,
  line({severity, verbosity, timeMs, source, message}, fields) {
    const v = severity === 'E' ? '' : `,"v":${verbosity}`;
    return `{"ts":${timeMs},"logger":${JSON.stringify(source)},"msg":${JSON.stringify(message)}${v}${fields}}\n`;
  },
};
