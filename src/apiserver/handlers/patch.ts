import type {Transform} from '#src/apiserver/registry/update.js';
import type {ServedResource} from '#src/apiserver/registry/registry.js';
import type {WriteQuery} from '#src/apiserver/registry/options.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import {badRequest} from '#src/api/status.js';

export const applyPatch = async (_served: ServedResource, _context: ResourceContext, _query: WriteQuery): Promise<Transform> => {
  throw badRequest('patches come with the schema');
};
