import {versionInfo, type VersionInfo} from '#src/api/version.js';
import type {GateName} from './gate-table.js';
import type {Parsed} from './parse.js';

/** Returns the version that a program reports, given its command line. */
export const versionInfoOf = ({versions, version}: Pick<Parsed<unknown>, 'versions' | 'version'>): VersionInfo =>
  versionInfo({
    emulated: versions.emulated,
    minCompatibility: versions.minCompatibility,
    ...(version.startsWith('v') ? {reported: version} : {}),
    runtime: {version: process.version, platform: process.platform, arch: process.arch},
  });

/** Returns a function that looks up feature gates by name, for layers that do not know the gate table. */
export const gateOf =
  ({gates}: Pick<Parsed<unknown>, 'gates'>) =>
  (name: string): boolean =>
    gates.enabled(name as GateName);
