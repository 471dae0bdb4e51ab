import {isIntroduced} from '#src/api/kind.js';
import type {Kind} from '#src/api/kinds/index.js';
import {compareVersions} from '#src/api/versions.js';
import type {ResourceDefinition} from './definition.js';

/**
 * Returns the version in which objects of a kind are stored, so that servers of release `minCompatibility` can read
 * them: the best version of the hub's group that the release has. Returns the hub if there is none, if the hub is not
 * stable, or without a release.
 */
export const storedKindOf = ({kind: hub, storage, served}: ResourceDefinition, minCompatibility?: string): Kind => {
  if (storage?.kind) return storage.kind;
  if (minCompatibility === undefined || !/^v\d+$/.test(hub.version)) return hub;
  const versions = [hub, ...(served?.otherVersions ?? []).map(({kind}) => kind)].filter(({group}) => group === hub.group);
  return versions.sort((a, b) => compareVersions(a.version, b.version)).find(kind => isIntroduced(kind, minCompatibility)) ?? hub;
};
