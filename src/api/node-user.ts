import {wellKnown, type UserInfo} from './user.js';

/** The node that a user is the agent of; undefined for users who are none. Empty for one who says he is but does not say of which. */
export const nodeOfUser = ({name, groups}: UserInfo): string | undefined =>
  name.startsWith(wellKnown.nodeUserPrefix) && groups.includes(wellKnown.nodes) ? name.slice(wellKnown.nodeUserPrefix.length) : undefined;
