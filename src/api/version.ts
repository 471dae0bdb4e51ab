/** The upstream release that plat implements. */
export const release = '1.35.0';

/** The name of the npm package, with which its parts are imported: `@platio/plat/operator`. */
export const packageName = '@platio/plat';

/** The version of the npm package. */
export const packageVersion = '0.1.0';

/**
 * What `/version` and `--version` report, as the API spells it. All values are strings; major and minor are plain
 * integers.
 */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly emulationMajor: string;
  readonly emulationMinor: string;
  readonly minCompatibilityMajor: string;
  readonly minCompatibilityMinor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

export interface VersionSource {
  /** The emulated release, as `major.minor`. */
  readonly emulated: string;
  readonly minCompatibility: string;
  /** Replaces the git version (`--version=vX.Y.Z...`). */
  readonly reported?: string;
  /** The runtime: `process.version`, `process.platform` and `process.arch`. */
  readonly runtime: {readonly version: string; readonly platform: string; readonly arch: string};
}

const archNames: Readonly<Record<string, string>> = {x64: 'amd64', ia32: '386'};

const split = (version: string): readonly [string, string] => {
  const [major = '', minor = ''] = version.split('.');
  return [major, minor];
};

/**
 * The version record of a process. `gitVersion` keeps the form `v1.35.x-plat...` in both namings, so that clients can
 * parse it.
 */
export const versionInfo = ({emulated, minCompatibility, reported, runtime}: VersionSource): VersionInfo => {
  const [major, minor] = split(release);
  const [emulationMajor, emulationMinor] = split(emulated);
  const [minCompatibilityMajor, minCompatibilityMinor] = split(minCompatibility);
  return {
    major,
    minor,
    emulationMajor,
    emulationMinor,
    minCompatibilityMajor,
    minCompatibilityMinor,
    gitVersion: reported ?? `v${release}-plat.${packageVersion}`,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: runtime.version,
    compiler: 'tsc',
    platform: `${runtime.platform}/${archNames[runtime.arch] ?? runtime.arch}`,
  };
};
