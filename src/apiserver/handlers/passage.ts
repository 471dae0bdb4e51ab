import type {ApiResponse} from '#src/api/exchange.js';
import type {Passage} from '#src/resources/definition.js';
import {header, type ResourceContext} from '#src/apiserver/request/context.js';
import type {ResourceServices} from './resource.js';

/** Asks a passage. Where it leads nowhere there is no content; what it cannot reach it throws. */
export const pass = async (passage: Passage, {reader}: ResourceServices, {request, info, target}: ResourceContext): Promise<ApiResponse> => {
  const {namespace, name} = target;
  await passage.connect({namespace, name, query: info.query, upgrades: header(request, 'upgrade') !== undefined, reader});
  return {status: 204, headers: {}, body: {kind: 'empty'}};
};
