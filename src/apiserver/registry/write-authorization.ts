import type {FieldError} from '#src/api/field-error.js';
import type {KubeObject} from '#src/api/types.js';
import type {Endpoint, HookContext} from '#src/resources/definition.js';
import type {Resource} from './registry.js';

/** What the server's own judges say against a write that is valid by the rules of its fields. */
export const authorizationErrors = async (
  {settings}: Resource,
  endpoint: Endpoint<KubeObject>,
  object: Readonly<KubeObject>,
  old: Readonly<KubeObject> | undefined,
  hooks: HookContext,
): Promise<readonly FieldError[]> => (endpoint.authorize ? endpoint.authorize(object, old, hooks, {authorizer: settings.authorizer, reader: settings.writes.pools.reader}) : []);
