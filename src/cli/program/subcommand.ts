import {closest} from '#src/base/text/closest.js';

/** Returns the command that the first argument of a program names. Throws an error of one line for another. */
export const subcommandOf = <T>(commands: Readonly<Record<string, T>>, name = ''): T => {
  if (Object.hasOwn(commands, name)) return commands[name]!;
  const names = Object.keys(commands)
    .join(', ')
    .replace(/, (\w+)$/, ' or $1');
  const similar = closest(name, Object.keys(commands));
  const hint = similar === undefined ? '' : ` (did you mean ${similar}?)`;
  throw new Error(`the first argument must be ${names}${name ? `, not ${JSON.stringify(name)}${hint}` : ''}`);
};
