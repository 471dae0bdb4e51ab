import type {UserInfo} from '#src/api/user.js';

/** A user in the format of reviews. */
export interface WireUser {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** Returns a user in the format of reviews; empty fields are omitted. */
export const wireUser = ({name, uid, groups, extra}: UserInfo): WireUser => {
  const more = Object.entries(extra ?? {}).map(([key, values]): [string, string[]] => [key, [...values]]);
  return {
    ...(name ? {username: name} : {}),
    ...(uid ? {uid} : {}),
    ...(groups.length > 0 ? {groups: [...groups]} : {}),
    ...(more.length > 0 ? {extra: Object.fromEntries(more)} : {}),
  };
};
