import {posix} from 'node:path';
import {header, type ApiResponse} from '#src/api/request.js';
import {invalidObject} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {forbidden} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {ConnectDestination, ConnectSubresource, ConnectOptions} from '#src/resources/definition.js';
import {requestAttributes} from '#src/apiserver/registry/address.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import {attributesOf} from '#src/apiserver/request/request-info.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import type {Target, TargetTls} from '#src/transport/dial.js';
import type {AgentAccess} from '#src/apiserver/handlers/agent-trust.js';
import {connectOptions} from './options.js';
import {writeContext, type ResourceServices} from '#src/apiserver/handlers/resource.js';

/**
 * Handles a connect subresource: validates, finds the backend, and connects it with the client. Responds without
 * content if there is no backend yet.
 */
export const connect = async (
  connectSubresource: ConnectSubresource,
  services: ResourceServices,
  served: ServedResource,
  context: ResourceContext,
): Promise<ApiResponse> => {
  const {registry, reader, network, agents} = services;
  const {gate, random} = registry.settings;
  const {before, path} = connectSubresource.mode === 'calls' ? pathBeyond(context) : {before: '', path: ''};
  const options = {...connectOptions(connectSubresource, context.info.query), ...(path === '' ? {} : {path})};
  if (connectSubresource.mode !== 'text') await admitted(connectSubresource, options, served, context);
  if (connectSubresource.mode === 'stream' && gate('AuthorizePodWebsocketUpgradeCreatePermission')) await mayStream(services, context);
  const errors = collectErrors(connectSubresource.validate?.(options, {gate}) ?? []);
  const {namespace, name} = context.target;
  if (errors.length > 0) throw invalidObject({group: '', kind: connectSubresource.options.kind}, name, errors);
  const destination = await connectSubresource.locate({
    namespace,
    name,
    options,
    agentAddresses: agents.addresses,
    reader,
    random,
    resolve: host => network.resolve(host),
    gate,
  });
  if (!destination) return {status: 204, headers: {}, body: {kind: 'empty'}};
  const to = backendOf(destination, options, agents);
  // The code of each mode is loaded on first use.
  if (connectSubresource.mode === 'text') return (await import('./text.js')).connectText(services, to, destination.path, context);
  if (connectSubresource.mode === 'stream')
    return (await import('./stream.js')).connectStream(
      services,
      {connect: connectSubresource, options, to, path: destination.path},
      context,
    );
  const upgrades = context.request.upgradable && header(context.request, 'upgrade') !== undefined;
  if (!upgrades && path === '' && ['GET', 'HEAD'].includes(context.request.method)) return slashed(context);
  return (await import('./calls.js')).connectCall(services, to, {before, path}, context);
};

/** The backend of a connection. Only agents are verified by certificate: pods have no known one. */
const backendOf = (
  {scheme, host, addresses, port, agent}: ConnectDestination,
  options: ConnectOptions,
  {trust: {current}, timeoutMs}: AgentAccess,
): Target => {
  if (!agent) return {scheme, host, addresses, port, ...(scheme === 'https' ? {tls: unverified} : {})};
  return {
    scheme,
    host,
    addresses,
    port,
    tls: options['insecureSkipTLSVerifyBackend'] === true ? current.unverified : current.verified,
    connectTimeoutMs: timeoutMs,
  };
};

const unverified: TargetTls = {insecure: true};

/** The part of a call's path that addresses this server, and the rest, normalized: `..` cannot leave the rest. */
const pathBeyond = ({info, target: {resource, name}}: ResourceContext): {readonly before: string; readonly path: string} => {
  const address = `/${resource}/${name}/proxy`;
  const end = info.path.indexOf(address) + address.length;
  const beyond = info.path.slice(end);
  return {before: info.path.slice(0, end), path: beyond === '' ? '' : posix.normalize(beyond)};
};

/** Relative links behind a call need the trailing slash. */
const slashed = ({request: {url}}: ResourceContext): ApiResponse => {
  const [path = '', ...query] = url.split('?');
  return {status: 301, headers: {Location: [`${path}/`, ...query].join('?')}, body: {kind: 'empty'}};
};

const admitted = async (
  connectSubresource: ConnectSubresource,
  options: ConnectOptions,
  served: ServedResource,
  context: ResourceContext,
): Promise<void> => {
  const {resource} = served;
  const {namespace, name, subresource} = context.target;
  const attributes = requestAttributes(resource, writeContext(context, served, false), {
    operation: 'CONNECT',
    kind: connectSubresource.options.kind,
    subresource,
    namespace,
    name,
    object: {kind: connectSubresource.options.kind, apiVersion: 'v1', ...options} as KubeObject,
  });
  await resource.settings.writes.admission.run('admit', attributes);
  await resource.settings.writes.admission.run('validate', attributes);
};

/** A stream opened by GET requires the same permission as one opened by POST (KEP-4006). */
const mayStream = async ({authorizer}: ResourceServices, {user, info, target: {group, resource, name}}: ResourceContext): Promise<void> => {
  if (info.verb === 'create') return;
  const {decision, reason = ''} = await authorizer.authorize({...attributesOf(user, info), verb: 'create'});
  if (decision !== 'allow') throw forbidden({group, resource}, name, reason);
};
