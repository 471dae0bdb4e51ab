// The file in the folder of a pod with the mappings of its user namespace.

import type {IdMapping} from '#src/platlet/runtime/configs.js';

/** Its name. */
export const mappingsFile = 'userns';

interface Mappings {
  readonly uidMappings?: readonly IdMapping[] | null;
  readonly gidMappings?: readonly IdMapping[] | null;
}

/** Formats the file. */
export const mappingsText = ({hostId, containerId, length}: IdMapping): string => {
  const mappings = [{hostId, containerId, length}];
  return JSON.stringify({uidMappings: mappings, gidMappings: mappings});
};

const parsed = (text: string): Mappings => {
  try {
    return JSON.parse(text) as Mappings;
  } catch (error) {
    throw new Error(`invalid user namespace mappings file: ${(error as Error).message}`, {cause: error});
  }
};

/** Parses the file. Throws unless it has what the agent writes: one mapping, the same for users and groups, from 0. */
export const mappingOf = (text: string): IdMapping => {
  const {uidMappings, gidMappings} = parsed(text);
  const [uids, ...moreUids] = uidMappings ?? [];
  const [gids, ...moreGids] = gidMappings ?? [];
  const refusal = (why: string): Error => new Error(`invalid user namespace configuration: ${why}`);
  if (!uids || moreUids.length > 0) throw refusal('no more than one mapping allowed.');
  if (!gids || moreGids.length > 0) throw refusal('GID and UID mappings should be identical.');
  const {hostId, containerId, length} = uids;
  if (gids.hostId !== hostId || gids.containerId !== containerId || gids.length !== length)
    throw refusal('GID and UID mapping should be identical');
  if (containerId !== 0) throw refusal('UID 0 must be mapped');
  return {hostId, containerId, length};
};
