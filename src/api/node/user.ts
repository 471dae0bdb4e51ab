import {wellKnown, type UserInfo} from '#src/api/user.js';

/**
 * Returns the node whose agent a user is; undefined for other users. Empty for a user of the nodes group without a node
 * name.
 */
export const nodeOfUser = ({name, groups}: UserInfo): string | undefined =>
  name.startsWith(wellKnown.nodeUserPrefix) && groups.includes(wellKnown.nodes) ? name.slice(wellKnown.nodeUserPrefix.length) : undefined;
