import type {Readable} from 'node:stream';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {badRequest, internalError, plainFailure, StatusError} from '#src/api/status.js';
import {statusOfCode} from '#src/api/status-of-code.js';
import {authority, type Target} from '#src/transport/dial.js';
import {relayCall} from '#src/transport/relay/call.js';
import {textOverWebSocket, wantsWebSocket} from '#src/serving/streams/websocket-text.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import type {ResourceServices} from '#src/apiserver/handlers/resource.js';

/** The number of bytes read of a refusal. */
const maxRefusalBytes = 50_000;

/** A request of this server's own with the client's options; no header of the client is sent to the agent. */
const ownRequest = ({request: {signal, remoteAddress, caller}}: ResourceContext): ApiRequest => ({
  method: 'GET',
  url: '/',
  headers: {},
  caller,
  remoteAddress,
  signal,
});

/** Relays a text from an agent to the client while it is being written. */
export const connectText = async (
  {backends, connectMetrics: metrics}: ResourceServices,
  to: Target,
  path: string,
  context: ResourceContext,
): Promise<ApiResponse> => {
  const requestText = `Get ${JSON.stringify(`${to.scheme}://${authority(to)}${path}`)}`;
  metrics.logRequested(context.info.query.has('insecureSkipTLSVerifyBackend') && to.tls?.insecure === true);
  const response = await relayCall(backends, {
    request: ownRequest(context),
    to,
    path,
    host: authority(to),
    headers: {'x-forwarded-for': undefined},
  }).catch((error: Error) => {
    metrics.logFailed(error);
    throw plainFailure(`${requestText}: ${error.message}`, error);
  });
  if (response.body.kind !== 'stream') return response;
  const {source} = response.body;
  const {status} = response;
  if (status >= 300 && status < 400 && response.headers['Location'] !== undefined) {
    source.destroy();
    throw plainFailure(`${requestText}: redirects forbidden`);
  }
  if (status < 200 || status > 206) throw refusalOf(status, await beginning(source), context);
  return wantsWebSocket(context.request)
    ? textOverWebSocket(context.request, source, backends.clock)
    : {status: 200, headers: {'Content-Type': 'text/plain'}, body: {kind: 'stream', source}};
};

const beginning = async (source: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxRefusalBytes) break;
    }
  } catch (error) {
    throw internalError(error);
  }
  return Buffer.concat(chunks).subarray(0, maxRefusalBytes).toString();
};

const refusalOf = (code: number, text: string, {target: {group, resource, subresource, name}}: ResourceContext): StatusError => {
  if (code === 500) return internalError(text);
  if (code === 400) return badRequest(text);
  return new StatusError(
    statusOfCode({code, method: '', text, subject: {verb: '', group, resource: `${resource}/${subresource}`, name}, unexpected: false}),
  );
};
