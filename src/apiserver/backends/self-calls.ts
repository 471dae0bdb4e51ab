import {pagesOf, type ApiResponse, type ApiHandler} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {CallAborted, type CallResult, type Call, type KeepAliveCalls} from '#src/transport/http1/calls.js';

/** Calls of this server itself, in process and with a given user. */
export const selfCalls = (handler: ApiHandler, user: UserInfo, clock: Clock): KeepAliveCalls => ({
  async send(call) {
    const over = new AbortController();
    const signal = call.signal ? AbortSignal.any([call.signal, over.signal]) : over.signal;
    using _ = clock.schedule(call.timeoutMs, () => over.abort());
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new CallAborted(!over.signal.aborted)), {once: true});
    });
    return Promise.race([aborted, answered(call, handler, user, signal)]);
  },
  close() {},
});

const answered = async (
  {method, path, headers, body, maxBytes}: Call,
  handler: ApiHandler,
  user: UserInfo,
  signal: AbortSignal,
): Promise<CallResult> => {
  const lower = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), Array.isArray(value) ? value.join(', ') : String(value)]),
  );
  const response = await handler({
    method,
    url: path,
    headers: lower,
    caller: {user},
    remoteAddress: '127.0.0.1',
    body: {kind: 'bytes', read: () => Promise.resolve(Buffer.from(body))},
    signal,
  });
  const headersByName = new Map(
    Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]),
  );
  if ('contentType' in response.body) headersByName.set('content-type', response.body.contentType);
  return {status: response.status, header: name => headersByName.get(name), body: await bytesOf(response, maxBytes)};
};

const bytesOf = async ({body}: ApiResponse, maxBytes: number): Promise<Buffer> => {
  if (body.kind === 'bytes') return Buffer.from(body.bytes);
  if (body.kind === 'object') return body.bytes();
  if (body.kind !== 'stream' && body.kind !== 'pages') return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body.kind === 'pages' ? pagesOf(body) : (body.source as AsyncIterable<Buffer>)) {
    if ((length += chunk.length) > maxBytes) throw new Error(`the response has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};
