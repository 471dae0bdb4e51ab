/** The thread that handles large requests: an API server of its own over the store of the main thread. */
import {jsonText, parseJson} from '#src/base/json/json.js';
import {parentPort, workerData} from 'node:worker_threads';
import {includes} from '#src/api/audit.js';
import {CollectedNotes} from '#src/apiserver/audit/notes.js';
import {capture} from '#src/apiserver/audit/response-object.js';
import {pagesOf, type ApiResponse} from '#src/api/request.js';
import {naming as namingOf} from '#src/api/naming.js';
import {internalError, StatusError} from '#src/api/status.js';
import {systemClock as clock} from '#src/base/clock.js';
import {noLog, type Log, type LogFields} from '#src/base/log.js';
import {systemRandom as random} from '#src/base/random.js';
import {yieldInTurn} from '#src/base/turn.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {flagValues} from '#src/options/flag-values.js';
import {parseFlags} from '#src/options/parse.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {assembleApiServer, type RunningApiServer} from '#src/plane/api-server/api-server.js';
import {storeServersOf} from '#src/plane/api-server/store-servers.js';
import {bufferOf} from '#src/storage/port/messages.js';
import {PortStore} from '#src/storage/port/store.js';
import {ForwardedMetrics} from './metrics.js';
import type {FromThread, PlainRequest, PlainResponse, ThreadStart, ToThread} from './messages.js';

const port = parentPort!;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- It is a thread, not a window.
const post = (message: FromThread): void => port.postMessage(message);

/** Fields in a form that messages can contain: errors by their messages. */
const plainFields = (fields: LogFields): LogFields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error
        ? {name: value.name, message: value.message, stack: value.stack}
        : (parseJson(jsonText(value ?? null)) as unknown),
    ]),
  );

/** A log up to a verbosity limit: the main thread filters finally. */
const logWith = (verbosityLimit: Verbosity, own: LogFields, verbosity = 0): Log => {
  const level = (name: 'info' | 'warn' | 'error') => (first: string | LogFields, message?: string) =>
    post({
      from: 'log',
      level: name,
      verbosity,
      fields: plainFields({...own, ...(typeof first === 'string' ? {} : first)}),
      message: typeof first === 'string' ? first : (message ?? ''),
    });
  const source = String(own['component'] ?? '');
  return {
    info: level('info'),
    warn: level('warn'),
    error: level('error'),
    v: wanted => (verbosityLimit.reaches(wanted, source) ? logWith(verbosityLimit, own, wanted) : noLog),
    child: fields => logWith(verbosityLimit, {...own, ...fields}, verbosity),
  };
};

const metrics = new ForwardedMetrics();
const postMetrics = (): void => {
  const taken = metrics.take();
  if (taken.length > 0) post({from: 'metrics', metrics: taken});
};

const {args, address, records} = workerData as ThreadStart;
/** Controllers and the scheduler report to the main thread. */
const recorder: FlightRecorder = {
  change: (report, states) => post({from: 'change', report, states}),
  admission: report => post({from: 'admission', report}),
  reconcile() {},
  scheduling() {},
};

const parsed = parseFlags(apiserverFlags, args);
const naming = namingOf(parsed.options.naming);
const gate = gateOf(parsed);
const servers = storeServersOf({options: parsed.options, naming, gate, minCompatibility: parsed.versions.minCompatibility});
let store: PortStore | undefined;
const {v, vmodule} = parsed.options;
const verbosity = new Verbosity(v, vmodule.join(','));

const start = async (): Promise<RunningApiServer> => {
  store = new PortStore(message => post({from: 'store', message}), await servers?.encoding());
  const server = await assembleApiServer({
    // The store of the main thread encrypts.
    options: {...parsed.options, encryptionProviderConfig: '', encryptionProviderConfigAutomaticReload: false},
    naming,
    clock,
    random,
    log: logWith(verbosity, {}),
    metrics,
    store,
    ...(records ? {recorder} : {}),
    version: versionInfoOf(parsed),
    versions: parsed.versions,
    flags: () => flagValues(apiserverFlags, parsed.options),
    gate,
    serverAddress: address,
    isBehindAnother: true,
  });
  await server.follow();
  return server;
};

const bytesOf = async ({body}: ApiResponse): Promise<Uint8Array> => {
  switch (body.kind) {
    case 'empty':
      return new Uint8Array();
    case 'bytes':
      return Buffer.from(body.bytes);
    case 'object':
      return body.bytes();
    case 'pages': {
      const pages: Buffer[] = [];
      for await (const page of pagesOf(body)) pages.push(page);
      return Buffer.concat(pages);
    }
    default:
      throw new Error(`an answer of the kind ${body.kind} cannot be handed to another thread`);
  }
};

const timedOut: PlainResponse = {status: 504, headers: {}, contentType: undefined, body: new Uint8Array()};

/** The response's object for the audit event, unless that can take it from the response's bytes. */
const responseObjectOf = async ({body}: ApiResponse, notes: CollectedNotes): Promise<Buffer | undefined> => {
  if (!includes(notes.level, 'RequestResponse') || body.kind !== 'object' || body.contentType === 'application/json') return undefined;
  return (await capture(body, {omitsManagedFields: notes.omitsManagedFields, clock}, true)).object;
};

/**
 * Handles a request. In a later turn, so that a disconnect of the client that has been received is known: no work is
 * done for it.
 */
const answered = async (
  server: RunningApiServer,
  {body, user, audit, ...request}: PlainRequest,
  signal: AbortSignal,
): Promise<PlainResponse> => {
  await yieldInTurn();
  // What the main thread acknowledged before this request may be long, and still being parsed here.
  await server.server.registry.takenIn();
  if (signal.aborted) return timedOut;
  const notes = audit && new CollectedNotes(audit);
  const response = await server.handler({
    ...request,
    caller: {user, notes},
    signal,
    ...(body ? {body: {kind: 'bytes', read: () => Promise.resolve(bufferOf(body))}} : {}),
  });
  const contentType = 'contentType' in response.body ? response.body.contentType : undefined;
  const {status, headers, outcome} = response;
  const audited = notes?.toPlain(await responseObjectOf(response, notes));
  return {status, headers, contentType, body: new Uint8Array(await bytesOf(response)), outcome, notes: audited};
};

const running = start();
const callers = new Map<number, AbortController>();

port.on('message', (message: ToThread) => {
  if (message.to === 'store') return store?.receive(message.message);
  if (message.to === 'caller') return callers.get(message.gone)?.abort();
  const {id, request} = message;
  verbosity.level = message.verbosity;
  const gone = new AbortController();
  callers.set(id, gone);
  void running
    .then(server => answered(server, request, gone.signal))
    .then(
      (response): FromThread => ({from: 'server', id, response}),
      (error: unknown): FromThread => ({from: 'failure', id, status: (error instanceof StatusError ? error : internalError(error)).status}),
    )
    .then(response => {
      callers.delete(id);
      postMetrics();
      post(response);
    });
});
running.then(
  () => post({from: 'start'}),
  (error: unknown) => post({from: 'start', failure: error instanceof Error ? error.message : String(error)}),
);
