import {isIntroduced} from '#src/api/kind.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {compareVersions} from '#src/api/versions.js';
import {resources} from './index.js';

// Which versions are served: defaults by stability, then `--runtime-config`, then the emulated release.

/**
 * Which versions of the built-in kinds are served. Stable ones are unless turned off; beta and alpha ones only if
 * turned on (KEP-3136: since 1.24 new beta APIs are off by default, and none of the older ones is left).
 */
type Stage = 'ga' | 'beta' | 'alpha';

const stageOf = (version: string): Stage => (/^v\d+$/.test(version) ? 'ga' : version.includes('beta') ? 'beta' : 'alpha');

const servedByDefault: Readonly<Record<Stage, boolean>> = {ga: true, beta: false, alpha: false};

/** The gates of resources that have some, by group and plural. */
const gates: ReadonlyMap<string, readonly string[]> = new Map(
  resources.flatMap(({kind, served}) => (served?.gates ? [[`${kind.group}/${kind.plural}`, served.gates]] : [])),
);

/** Keys of `--runtime-config` that stand for many versions, in order of precedence: the narrower wins. */
const versionSets: readonly (readonly [key: string, covers: (stage: Stage) => boolean])[] = [
  ['api/all', () => true],
  ['api/ga', stage => stage === 'ga'],
  ['api/beta', stage => stage === 'beta'],
  ['api/alpha', stage => stage === 'alpha'],
];

const isOn = (text: string): boolean => /^(?:|1|t|true)$/i.test(text);

/** A key of `--runtime-config` that matches no API; the message names the flag. */
export class UnknownApi extends Error {
  constructor(cause: string) {
    super(`--runtime-config: ${cause}`);
  }
}

/** Parses a key. The core group has no name, or that of its path. */
const addressOf = (key: string): readonly [group: string, version: string, resource: string | undefined] => {
  const [group, version, resource, ...rest] = /^v\d[^/]*$/.test(key) ? ['', key] : key.split('/');
  if (group === undefined || !version || resource === '' || rest.length > 0) throw new UnknownApi(`invalid key ${key}`);
  return [group === 'api' ? '' : group, version, resource];
};

/** Throws `UnknownApi` for a key that matches no built-in API; that of metrics is always accepted. */
const checkKey = (key: string, naming: Naming): void => {
  const [group, version, resource] = addressOf(key);
  const ofGroup = Object.values(kinds).filter(kind => kind.group !== 'metrics' && naming.group(kind.group) === group);
  if (ofGroup.length === 0) throw new UnknownApi(`unknown api groups ${group}`);
  const ofVersion = ofGroup.filter(kind => kind.version === version);
  if (ofVersion.length === 0)
    throw new UnknownApi(`group version ${naming.apiVersion(ofGroup[0]!.group, version)} that has not been registered`);
  if (resource !== undefined && !ofVersion.some(({plural}) => plural === resource))
    throw new UnknownApi(`unknown resource ${resource} in ${key}`);
};

/** The release a server emulates, if not its own. */
export interface EmulatedRelease {
  /** Newer versions are not served, for example `1.33`. */
  readonly emulated: string;
  /**
   * Whether newer versions are served if a lower version of the resource that is beta or stable is
   * (`--emulation-forward-compatible`).
   */
  readonly forwardCompatible: boolean;
  /**
   * Whether newer versions named in `--runtime-config` are served (`--runtime-config-emulation-forward-compatible`).
   */
  readonly namedForwardCompatible: boolean;
}

export interface ServedSettings {
  readonly naming: Naming;
  gate(name: string): boolean;
  readonly release?: EmulatedRelease | undefined;
}

/** A version enabled by `--runtime-config` that the emulated release does not have; the message names the flag. */
export class UnavailableApi extends Error {
  constructor(cause: string) {
    super(`--runtime-config: cannot enable ${cause}. Consider setting --runtime-config-emulation-forward-compatible=true`);
  }
}

type Serves = (kind: Kind) => boolean;

/** Returns the versions of a group below that of a kind, without alpha versions. */
const lowerVersions = ({group, version}: Kind): readonly Kind[] =>
  Object.values<Kind>(kinds).filter(
    other => other.group === group && stageOf(other.version) !== 'alpha' && compareVersions(version, other.version) < 0,
  );

/** What the keys of `--runtime-config` enable. */
class Enabled {
  readonly #config: ReadonlyMap<string, string>;
  readonly #settings: ServedSettings;
  readonly #named = new Map<string, boolean>();

  constructor(config: ReadonlyMap<string, string>, settings: ServedSettings) {
    this.#config = config;
    this.#settings = settings;
    for (const [key, value] of config) {
      if (versionSets.some(([many]) => many === key)) continue;
      checkKey(key, settings.naming);
      this.#named.set(
        addressOf(key)
          .filter(part => part !== undefined)
          .join('/'),
        isOn(value),
      );
    }
  }

  /** Returns the settings of the resource itself and of its version. */
  named(kind: Kind): {readonly resource: boolean | undefined; readonly version: boolean | undefined} {
    const address = `${this.#settings.naming.group(kind.group)}/${kind.version}`;
    return {resource: this.#named.get(`${address}/${kind.plural}`), version: this.#named.get(address)};
  }

  has(kind: Kind): boolean {
    return this.named(kind).resource ?? this.#hasVersionOf(kind);
  }

  #hasVersionOf(kind: Kind): boolean {
    return this.named(kind).version ?? (this.#byStage(kind) || this.#followsLower(kind));
  }

  #byStage({version}: Kind): boolean {
    const stage = stageOf(version);
    const set = versionSets.findLast(([key, covers]) => covers(stage) && this.#config.has(key));
    return set ? isOn(this.#config.get(set[0])!) : servedByDefault[stage];
  }

  #followsLower(kind: Kind): boolean {
    return (
      this.#settings.release?.forwardCompatible === true &&
      lowerVersions(kind).some(lower => (lower.plural === kind.plural ? this.has(lower) : this.#hasVersionOf(lower)))
    );
  }
}

/**
 * Removes versions that the release does not have, unless they are served for compatibility. Throws `UnavailableApi`
 * for one that was named explicitly.
 */
const ofRelease = (
  enabled: Enabled,
  available: Serves,
  {emulated, forwardCompatible, namedForwardCompatible}: EmulatedRelease,
  naming: Naming,
): Serves => {
  const serves: Serves = kind => {
    if (!available(kind)) return false;
    if (isIntroduced(kind, emulated)) return true;
    if (forwardCompatible && lowerVersions(kind).some(lower => lower.plural === kind.plural && serves(lower))) return true;
    const {resource, version} = enabled.named(kind);
    return namedForwardCompatible && (resource ?? version) === true;
  };
  for (const kind of Object.values<Kind>(kinds)) {
    if (!available(kind) || serves(kind)) continue;
    const apiVersion = naming.apiVersion(kind.group, kind.version);
    const {resource, version} = enabled.named(kind);
    if (resource)
      throw new UnavailableApi(
        `resource ${apiVersion}/${kind.plural}, because it is introduced at ${kind.introduced} after the emulated version ${emulated}`,
      );
    const isWhole = !Object.values<Kind>(kinds).some(
      other => other.group === kind.group && other.version === kind.version && serves(other),
    );
    if (version && isWhole)
      throw new UnavailableApi(`version ${apiVersion}, because all its resources are introduced after the emulated version ${emulated}`);
  }
  return serves;
};

/**
 * Returns which kinds are served, from the pairs of `--runtime-config`: `api/all`, `api/ga`, `api/beta` and
 * `api/alpha`, then a group version, then one of its resources; later ones take precedence. Only kinds that an emulated
 * release has are served. Throws `UnknownApi` for keys that match nothing, and `UnavailableApi` for those that name
 * newer versions.
 */
export const servedVersions = (runtimeConfig: ReadonlyMap<string, string>, settings: ServedSettings): Serves => {
  const {gate, release} = settings;
  const enabled = new Enabled(runtimeConfig, settings);
  const available: Serves = kind => (gates.get(`${kind.group}/${kind.plural}`) ?? []).every(gate) && enabled.has(kind);
  return release ? ofRelease(enabled, available, release, settings.naming) : available;
};

/** Returns the alpha versions named explicitly, which are unsupported in an emulated release. */
export const explicitAlphas = (runtimeConfig: ReadonlyMap<string, string>): readonly string[] =>
  [...runtimeConfig].filter(([key, value]) => /\/v\d+alpha\d+/.test(key) && isOn(value)).map(([key]) => key);
