import {once} from 'node:events';
import {request} from 'node:https';
import type {ExecutionContext} from 'ava';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createManager, customKind, type KubeObject, type Webhook} from '#src/operator/index.js';
import {startServer} from '#test/fixtures/server.js';
import {recordingLog} from '#test/runtime/environment.js';

/** What the webhooks are for. */
export interface Backup extends KubeObject {
  spec: {keep?: number; bucket?: string};
}
export const Backup = customKind<Backup>({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'});
/** The path of its validation. */
export const path = '/validate-example-com-v1-backup';

/** Runs a manager that serves webhooks, with a client that sends to their port. */
export const serve = async (t: ExecutionContext, handlers: readonly Webhook[], clock = new VirtualClock()) => {
  const {clientOf} = startServer({clock});
  const {log, lines} = recordingLog();
  const stop = new AbortController();
  const manager = createManager({
    controllers: [],
    client: clientOf(),
    clock,
    random: seededRandom(1),
    log,
    webhooks: {handlers, certificate: {secret: 'hooks', namespace: 'default'}, bindAddress: '127.0.0.1', port: 0},
  });
  const ended = manager.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await clock.drain();
    await ended;
  });
  const port = await manager.webhookPort;
  const send = async (to: string, body: string | Buffer | undefined, method = 'POST') => {
    const sent = request({host: '127.0.0.1', port, path: to, method, rejectUnauthorized: false, agent: false});
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
    const text = Buffer.concat(await response.toArray()).toString();
    return {status: response.statusCode, text};
  };
  const review = async (object: object, to = path) => {
    const body = {apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: {uid: 'u1', operation: 'CREATE', name: 'b', object}};
    const {status, text} = await send(to, JSON.stringify(body));
    return {status, text, response: (JSON.parse(text) as {response: Record<string, unknown>}).response};
  };
  return {clock, manager, lines, send, review, stop, ended};
};
