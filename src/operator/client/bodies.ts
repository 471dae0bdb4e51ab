// The bodies of writes: kind and API version are those of the handle.

import {apiVersionOf, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyObject} from './objects.js';

/** Metadata fields that only the server sets. */
const writtenByServer: ReadonlySet<string> = new Set([
  'managedFields',
  'resourceVersion',
  'uid',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
]);

/**
 * Returns a body with the kind and the API version of the handle. Throws a `TypeError` for a body that says another
 * kind.
 */
export const bodyOf = (naming: Naming, kind: Kind, body: AnyObject): AnyObject => {
  const own = {apiVersion: apiVersionOf(naming, kind), kind: kind.kind};
  for (const field of ['kind', 'apiVersion'] as const)
    if (body[field] !== undefined && body[field] !== own[field])
      throw new TypeError(
        `the body of ${own.kind} (${own.apiVersion}) says ${field} ${body[field]}: leave it out, it is that of the handle`,
      );
  return {...body, ...own};
};

/** Returns a body without server-set metadata, and without a status unless that is what is applied. */
export const configurationOf = (naming: Naming, kind: Kind, body: AnyObject, {keepsStatus}: {readonly keepsStatus: boolean}): AnyObject => {
  const {status, ...configuration} = bodyOf(naming, kind, body) as AnyObject & {readonly status?: unknown};
  const metadata = Object.fromEntries(Object.entries(body.metadata ?? {}).filter(([field]) => !writtenByServer.has(field)));
  return {...configuration, metadata, ...(keepsStatus ? {status} : {})} as AnyObject;
};
