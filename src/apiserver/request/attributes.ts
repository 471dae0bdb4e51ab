import type {Attributes} from '#src/api/authorization.js';
import type {UserInfo} from '#src/api/user.js';
import type {RequestInfo} from './request-info.js';

/** Returns the attributes of a request that an authorizer decides on. */
export const attributesOf = (user: UserInfo, {verb, path, query, resource}: RequestInfo): Attributes => {
  if (!resource) return {user, verb, path};
  const {item: _, ...target} = resource;
  const selects = verb === 'list' || verb === 'watch' || verb === 'deletecollection';
  const labelSelector = selects ? query.get('labelSelector') : null;
  const fieldSelector = selects ? query.get('fieldSelector') : null;
  return {
    user,
    verb,
    path,
    // The path below a subresource is not part of its name.
    resource: {
      ...target,
      subresource: target.subresource.split('/', 1)[0]!,
      ...(labelSelector ? {labelSelector} : {}),
      ...(fieldSelector ? {fieldSelector} : {}),
    },
  };
};
