import {wellKnown} from '#src/api/user.js';
import type {HookContext} from '#src/resources/definition.js';

/**
 * Whether the server writes the endpoints of its own service. They may have a loopback address, as those of others may
 * not: a server on a machine without another address is reached there.
 */
export const isOwnService = (
  {metadata}: {readonly metadata?: {readonly name?: string; readonly namespace?: string}},
  {user, naming}: Pick<HookContext, 'user' | 'naming'>,
): boolean => user.name === wellKnown.server && metadata?.name === naming.self && metadata.namespace === 'default';
