import {naming} from '#src/api/naming.js';
import {release} from '#src/api/version.js';
import {OptionError} from './option-error.js';

/** A release that can be emulated. */
export type EmulatedVersion = '1.32' | '1.33' | '1.34' | '1.35';

/** Releases in ascending order; the last is the program's own. */
export const emulatedVersions: readonly EmulatedVersion[] = ['1.32', '1.33', '1.34', '1.35'];
export const binaryVersion: EmulatedVersion = '1.35';

export interface Versions {
  /** The release whose APIs and feature gates are available. */
  readonly emulated: EmulatedVersion;
  /** The oldest release of other control plane components to be compatible with. */
  readonly minCompatibility: EmulatedVersion;
}

const coreComponent = naming('plat').prefix;
const coreComponents: ReadonlySet<string> = new Set([coreComponent, naming('kubernetes').prefix]);

/** Whether a name stands for the control plane in pairs of a component and a value, in either naming. */
export const isCoreComponent = (name: string): boolean => coreComponents.has(name);

/** The releases that a flag may name, in the original's words; the binary's own has a patch number. */
const notBetween = (what: string, version: string, last: string): string =>
  `${what} ${version} is not between [${emulatedVersions[0]}, ${last}]`;

/** Returns the release that a flag names, with its numbers; undefined without one. */
const readVersion = (flag: string, pairs: readonly string[]): string | undefined => {
  const refused = (reason: string) => new OptionError(`invalid value for --${flag}: ${reason}`);
  let found: string | undefined;
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    const component = equals < 0 ? coreComponent : pair.slice(0, equals).trim();
    const text = pair
      .slice(equals + 1)
      .trim()
      .replace(/^v/, '');
    if (!isCoreComponent(component)) throw refused(`component not registered: ${component}`);
    const [, release, patch = '0'] = /^((?:0|[1-9]\d*)\.(?:0|[1-9]\d*))(?:\.(0|[1-9]\d*))?$/.exec(text) ?? [];
    if (!release) throw refused(`could not parse ${JSON.stringify(text)} as version`);
    if (patch !== '0') throw refused(`patch version not allowed, got: ${component}=${text}`);
    if (found) throw refused(`duplicate version flag, ${coreComponent}=${found} and ${coreComponent}=${release}`);
    found = release;
  }
  return found;
};

const before = (version: EmulatedVersion): EmulatedVersion => emulatedVersions[Math.max(0, emulatedVersions.indexOf(version) - 1)]!;

/**
 * Parses `--emulated-version` and `--min-compatibility-version` (`1.34` or `plat=1.34`). The minimum compatibility
 * version defaults to the release before the emulated one.
 */
export const readVersions = (emulatedPairs: readonly string[], minCompatibilityPairs: readonly string[]): Versions => {
  const named = (text: string) => emulatedVersions.find(version => version === text);
  const wanted = readVersion('emulated-version', emulatedPairs) ?? binaryVersion;
  const emulated = named(wanted);
  if (!emulated)
    throw new OptionError(`invalid value for --emulated-version: ${notBetween('emulation version', wanted, `${binaryVersion}.0`)}`);
  const least = readVersion('min-compatibility-version', minCompatibilityPairs) ?? before(emulated);
  const minCompatibility = named(least);
  if (!minCompatibility || emulatedVersions.indexOf(minCompatibility) > emulatedVersions.indexOf(emulated))
    throw new OptionError(
      `invalid value for --min-compatibility-version: ${notBetween('minCompatibilityVersion version', least, emulated)}`,
    );
  return {emulated, minCompatibility};
};

/** Throws if the version of `--version=vX.Y.Z...` is not this release's. */
export const checkReportedVersion = (text: string): void => {
  const [, core] = /^v((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*))(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.exec(text) ?? [];
  if (!core) throw new OptionError(`invalid argument "${text}" for --version: must be a version such as v${release}`);
  if (core !== release) throw new OptionError(`invalid argument "${text}" for --version: must match major, minor and patch of v${release}`);
};
