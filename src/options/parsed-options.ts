import {versionInfo, type VersionInfo} from '#src/api/version.js';
import type {GateName} from './gate-table.js';
import type {Parsed} from './parse.js';

/** The version a program reports, by its command line. */
export const versionInfoOf = ({versions, version}: Pick<Parsed<unknown>, 'versions' | 'version'>): VersionInfo =>
  versionInfo({
    emulated: versions.emulated,
    minCompatibility: versions.minCompatibility,
    ...(version.startsWith('v') ? {reported: version} : {}),
    runtime: {version: process.version, platform: process.platform, arch: process.arch},
  });

/** The switch board of a program's gates, for parts that know gates by name alone. */
export const gateOf =
  ({gates}: Pick<Parsed<unknown>, 'gates'>) =>
  (name: string): boolean =>
    gates.enabled(name as GateName);
