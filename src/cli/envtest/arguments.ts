// Translates the command line of the original API server into that of plat-apiserver or `plat up`: flags that name the
// store, the node agent or the self service differ by those names.

import {OptionError} from '#src/options/option-error.js';
import {flagPrefixes} from '#src/options/original-flags.js';

/** A flag of older releases, which test environments still set to 0 where `--help` lists it. */
const insecurePort = 'insecure-port';

const ownName = (flag: string): string => {
  const found = flagPrefixes().find(([prefix]) => flag.startsWith(prefix));
  return found ? `${found[1]}${flag.slice(found[0].length)}` : flag;
};

/** Returns a text of help with the names of flags as in the original. */
export const withOriginalFlags = (help: string): string =>
  flagPrefixes().reduce((text, [prefix, renamed]) => text.replaceAll(`--${renamed}`, `--${prefix}`), help);

/**
 * Returns the arguments with the names of this program's flags. Throws an `OptionError` for an insecure port, which no
 * release has any more.
 */
export const ownArguments = (argv: readonly string[]): string[] => {
  const translated: string[] = [];
  for (const [at, argument] of argv.entries()) {
    const [, flag, value] = /^--([^=]+)(?:=([^]*))?$/.exec(argument) ?? [];
    if (flag === undefined) translated.push(argument);
    else if (flag !== insecurePort) translated.push(`--${ownName(flag)}${value === undefined ? '' : `=${value}`}`);
    else if (value !== '0')
      throw new OptionError(`--${insecurePort}: only 0 is allowed${value === undefined && argv[at + 1] ? ', as --insecure-port=0' : ''}`);
  }
  return translated;
};

/** Removes a flag from arguments that were translated, and returns its last value. */
export const takeFlag = (argv: string[], flag: string): string | undefined => {
  let last: string | undefined;
  for (let at = argv.length - 1; at >= 0; at--) {
    if (argv[at] === `--${flag}`) last ??= argv.splice(at, 2)[1];
    else if (argv[at]!.startsWith(`--${flag}=`)) {
      const [taken = ''] = argv.splice(at, 1);
      last ??= taken.slice(flag.length + 3);
    }
  }
  return last;
};
