import type {ApiResponse} from '#src/api/exchange.js';
import {invalidObject} from '#src/api/field-error.js';
import {badRequest, forbidden, plainFailure, serviceUnavailable} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Destination, Passage, PassageOptions} from '#src/resources/definition.js';
import {runPhase, type AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {addressOf} from '#src/apiserver/registry/create.js';
import type {ServedResource} from '#src/apiserver/registry/registry.js';
import {attributesOf} from '#src/apiserver/request/attributes.js';
import {header, type ResourceContext} from '#src/apiserver/request/context.js';
import {passageOptions} from './passage-options.js';
import {writeContext, type ResourceServices} from './resource.js';

/**
 * Follows a passage as far as this server goes: to the door of whoever is to answer. Refuses what is refused before, and tells why the door stays
 * shut. Where there is nobody to ask yet there is no content.
 */
export const pass = async (passage: Passage, services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {registry, reader, network} = services;
  const {gate, random} = registry.settings;
  const path = passage.way === 'calls' ? pathBeyond(context) : '';
  const options = {...passageOptions(passage, context.info.query), ...(passage.way === 'calls' ? {path} : {})};
  if (passage.way !== 'text') await admitted(passage, options, served, context);
  if (passage.way === 'stream' && gate('AuthorizePodWebsocketUpgradeCreatePermission')) await mayStream(services, context);
  const errors = [...(passage.validate?.(options, {gate}) ?? [])];
  const {namespace, name} = context.target;
  if (errors.length > 0) throw invalidObject({group: '', kind: passage.options.kind}, name, errors);
  const to = await passage.locate({
    namespace,
    name,
    options,
    agentAddresses: services.agentAddresses,
    reader,
    random,
    resolve: host => network.resolve(host),
    gate,
  });
  if (!to) return {status: 204, headers: {}, body: {kind: 'empty'}};
  const upgrades = header(context.request, 'upgrade') !== undefined;
  if (passage.way === 'stream' && !upgrades) throw badRequest('Upgrade request required');
  if (passage.way === 'calls' && !upgrades && path === '' && ['GET', 'HEAD'].includes(context.request.method)) return slashed(context);
  const socket = await services.network.dial(to.host, to.port).catch((error: Error) => {
    throw unreached(passage, to, upgrades, error);
  });
  socket.destroy();
  throw unreached(passage, to, upgrades, new Error(`${to.host} answers at port ${to.port}, but this server passes nothing on to it`));
};

const pathBeyond = ({info, target: {resource, name}}: ResourceContext): string => {
  const before = `/${resource}/${name}/proxy`;
  return info.path.slice(info.path.indexOf(before) + before.length);
};

/** What is behind a call has relative links, which need the slash. */
const slashed = ({request: {url}}: ResourceContext): ApiResponse => {
  const [path = '', ...query] = url.split('?');
  return {status: 301, headers: {Location: [`${path}/`, ...query].join('?')}, body: {kind: 'empty'}};
};

/** Why the other end was not reached, as each way tells it. */
const unreached = ({way}: Passage, {scheme, host, port, path}: Destination, upgrades: boolean, error: Error) => {
  if (way === 'text') return plainFailure(`Get ${JSON.stringify(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}${path}`)}: ${error.message}`, error);
  return way === 'stream' || upgrades ? plainFailure(`error dialing backend: ${error.message}`, error) : serviceUnavailable(`error trying to reach service: ${error.message}`);
};

const admitted = async (passage: Passage, options: PassageOptions, served: ServedResource, context: ResourceContext): Promise<void> => {
  const {resource} = served;
  const {namespace, name, subresource} = context.target;
  const attributes: AdmissionAttributes = {
    operation: 'CONNECT',
    ...addressOf(resource, writeContext(context, served, false)),
    kind: passage.options.kind,
    subresource,
    namespace,
    name,
    object: {kind: passage.options.kind, apiVersion: 'v1', ...options} as KubeObject,
  };
  await runPhase(resource.settings.admission, 'admit', attributes);
  await runPhase(resource.settings.admission, 'validate', attributes);
};

/** A stream begun by GET does as much as one begun by POST, so it takes the same right (KEP-4006). */
const mayStream = async ({authorizer}: ResourceServices, {user, info, target: {group, resource, name}}: ResourceContext): Promise<void> => {
  if (info.verb === 'create') return;
  const {decision, reason = ''} = await authorizer.authorize({...attributesOf(user, info), verb: 'create'});
  if (decision !== 'allow') throw forbidden({group, resource}, name, reason);
};
