import type {Naming} from '#src/api/naming.js';
import {compareVersions} from '#src/api/versions.js';
import type {Registration, Registrations} from '#src/apiserver/aggregation/registrations.js';
import {builtInPriority, customPriority, registrationGroup, type Priority} from '#src/resources/apiregistration/priorities.js';
import type {DiscoveredGroup, DiscoveredVersion} from './resources.js';

/** A version of a group, served by this server or by the server of a registration. */
export interface ListedVersion {
  readonly version: string;
  readonly served: {readonly local: DiscoveredVersion} | {readonly remote: Registration};
}

/** A group in discovery, by its name on the wire. */
export interface ListedGroup {
  readonly name: string;
  /** Best first. */
  readonly versions: readonly ListedVersion[];
}

interface PrioritizedVersion extends ListedVersion {
  readonly priority: Priority;
}

/** The group of registrations itself comes before all others. */
const registrationPriority: Priority = {group: 20_001, version: 0};

const bestOf = (versions: readonly PrioritizedVersion[]): number => Math.max(...versions.map(({priority}) => priority.group));

const placeOfBuiltIn = ({group}: DiscoveredGroup, version: string): Priority =>
  group === registrationGroup ? registrationPriority : (builtInPriority(group, version) ?? customPriority);

/** Groups and versions are ordered by priority; of equal versions the newer comes first. */
const sorted = (groups: ReadonlyMap<string, readonly PrioritizedVersion[]>): ListedGroup[] =>
  [...groups]
    .sort(([a, of], [b, ofOther]) => bestOf(ofOther) - bestOf(of) || (a < b ? -1 : 1))
    .map(([name, versions]) => ({
      name,
      versions: versions.toSorted((a, b) => b.priority.version - a.priority.version || compareVersions(a.version, b.version)),
    }));

/**
 * Returns every group with its versions, in the order of discovery: those of this server and those of registrations.
 */
export const listing = (naming: Naming, local: readonly DiscoveredGroup[], registrations: Registrations | undefined): ListedGroup[] => {
  const groups = new Map<string, PrioritizedVersion[]>();
  for (const group of local) {
    const name = naming.group(group.group);
    const versions = group.versions.map((served): PrioritizedVersion => {
      const registration = registrations?.get(`${served.version}.${name}`);
      const priority = registration ? priorityOf(registration) : placeOfBuiltIn(group, served.version);
      return {version: served.version, served: {local: served}, priority};
    });
    groups.set(name, versions);
  }
  for (const registration of registrations?.remote ?? []) {
    const {group, version} = registration;
    if (group === '') continue; // The core group has its own document.
    const others = (groups.get(group) ?? []).filter(other => other.version !== version);
    groups.set(group, [...others, {version, served: {remote: registration}, priority: priorityOf(registration)}]);
  }
  return sorted(groups);
};

const priorityOf = ({groupPriority, versionPriority}: Registration): Priority => ({group: groupPriority, version: versionPriority});
