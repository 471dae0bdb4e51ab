// `/logs/`: the files of the system's log directory, and the logs of services from the journal.

import {pipeline, Readable} from 'node:stream';
import {constants, createGzip} from 'node:zlib';
import {invalid} from '#src/api/field-error.js';
import type {ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {sniffedBytes, sniffedType} from '#src/base/files/sniffed-type.js';
import {messageOf} from '#src/base/message.js';
import {htmlEscaped} from '#src/base/text/html.js';
import {notFoundPage, text, type AdministrativeRequest, type AdministrativeRoute} from '#src/serving/administration/route.js';
import type {Journal} from './journal.js';
import type {LogEntry, LogFolder} from './log-folder.js';
import {
  fieldErrorsText,
  journalArguments,
  nodeLogQueryErrors,
  readNodeLogQuery,
  type NodeLogOptions,
  type NodeLogQuery,
} from './node-log-query.js';

export interface SystemLogParts {
  readonly folder: LogFolder;
  readonly clock: Clock;
  /** The journal, if queries of service logs are enabled. */
  readonly journal?: Journal | undefined;
}

const prefix = '/logs/';
/** The timeout of journalctl. */
const journalMs = 30_000;

/** The maximum number of concurrent responses: each holds an open file or a process. */
const maxAnswers = 64;

/** Returns the routes of system logs. */
export const systemLogRoutes = (parts: SystemLogParts): AdministrativeRoute[] => {
  let sending = 0;
  const answer = async (request: AdministrativeRequest): Promise<ApiResponse> => {
    if (request.method !== 'GET') return text('405: Method Not Allowed', 405);
    if (sending >= maxAnswers) return plain('too many logs are being read', 503);
    sending++;
    let response: ApiResponse | undefined;
    try {
      response = await answerOne(request);
      return response;
    } finally {
      if (response?.body.kind === 'stream') response.body.source.once('close', () => sending--);
      else sending--;
    }
  };
  const answerOne = async (request: AdministrativeRequest): Promise<ApiResponse> => {
    const path = decodeURIComponent(request.path.slice(prefix.length));
    const asked = parts.journal && (await queried(parts, parts.journal, path, request));
    if (asked && 'status' in asked) return asked;
    // A name with a trailing slash is a directory. An empty query of a file is the file itself.
    const {entry, path: named} = asked ?? {entry: await parts.folder.at(path), path};
    return served(entry, named, request);
  };
  return [
    {path: '/logs', answer},
    {path: `${prefix}*`, answer},
  ];
};

const plain = (body: string, status: number): ApiResponse => text(`${body}\n`, status);

/** The path of a requested file or directory. */
interface Wanted {
  readonly path: string;
  readonly entry: LogEntry | undefined;
}

/** Returns the response to a query, or the path that it asks for; undefined if there is no query. */
const queried = async (
  parts: SystemLogParts,
  journal: Journal,
  path: string,
  {query: given, request}: AdministrativeRequest,
): Promise<ApiResponse | Wanted | undefined> => {
  const {query, errors} = readNodeLogQuery(given);
  if (errors.length > 0) return plain(fieldErrorsText(errors), 400);
  if (!query) return undefined;
  if (path !== '' && path !== '/') return plain('path not allowed in query mode', 406);
  const wrong = nodeLogQueryErrors(query);
  if (wrong.length > 0) return plain(fieldErrorsText(wrong), 406);
  const [file] = query.files;
  if (file === undefined) {
    const logs = Readable.from(serviceLogs(parts, journal, query, request.signal), {objectMode: false});
    return streamed(logs, request.headers['accept-encoding'] === 'gzip');
  }
  const refusal = await parts.folder.refusal(file);
  if (refusal) return plain(fieldErrorsText([invalid('query', query.files, `statat ${file}: ${refusal.reason}`)]), 406);
  return {path: file, entry: await parts.folder.at(file)};
};

const streamed = (logs: Readable, isCompressed: boolean): ApiResponse => ({
  status: 200,
  headers: {'Content-Type': 'text/plain;charset=UTF-8', ...(isCompressed ? {'Content-Encoding': 'gzip'} : {})},
  body: {kind: 'stream', source: isCompressed ? compressed(logs) : logs},
});

const compressed = (logs: Readable): Readable => {
  const gzip = confineErrors(createGzip({level: constants.Z_BEST_SPEED}));
  // An error ends both: the client gets an answer that is cut off.
  pipeline(logs, gzip, () => {});
  return gzip;
};

/** Yields the logs of services: from the journal if it has them, otherwise from their conventional files. */
async function* serviceLogs(
  {folder, clock}: SystemLogParts,
  journal: Journal,
  {services, options}: NodeLogQuery,
  signal: AbortSignal,
): AsyncGenerator<string | Buffer, void, undefined> {
  const ending = new AbortController();
  const timer = clock.schedule(journalMs, () => ending.abort());
  const end = AbortSignal.any([signal, ending.signal]);
  try {
    const units = await journal.units(end).catch(() => '');
    const native = services.filter(service => units.includes(`${service}.service`));
    const others = services.filter(service => !native.includes(service));
    if (native.length > 0) yield* journalLogs(journal, native, options, end);
    if (others.length > 0 && Object.keys(options).length > 0) {
      yield `\noptions present and query resolved to log files for [${others.join(' ')}]\ntry without specifying options\n`;
      return;
    }
    for (const service of others) {
      if (end.aborted) return void (yield '\ncontext error: context deadline exceeded\n');
      yield* fileLog(folder, service);
    }
  } finally {
    timer[Symbol.dispose]();
    ending.abort();
  }
}

async function* journalLogs(
  journal: Journal,
  services: readonly string[],
  options: NodeLogOptions,
  signal: AbortSignal,
): AsyncGenerator<Buffer | string, void, undefined> {
  try {
    yield* journal.read(journalArguments(services, options), signal) as AsyncIterable<Buffer>;
  } catch {
    // Nothing is said of an earlier boot.
    if (!signal.aborted && (options.boot ?? 0n) === 0n) yield '\nerror: journal output not available\n';
  }
}

async function* fileLog(folder: LogFolder, service: string): AsyncGenerator<string | Buffer, void, undefined> {
  try {
    for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
      const refusal = await folder.refusal(name);
      if (refusal?.isMissing) continue;
      if (refusal) throw new Error(`openat ${name}: ${refusal.reason}`);
      const entry = await folder.at(name);
      if (entry?.kind !== 'file') continue;
      if (entry.bytes > 0) yield* entry.read(0, entry.bytes) as AsyncIterable<Buffer>;
      else await entry[Symbol.asyncDispose]();
      return;
    }
    yield `\nlog not found for ${service}\n`;
  } catch (error) {
    yield `\nerror getting log for ${service}: ${messageOf(error)}\n`;
  }
}

const served = async (entry: LogEntry | undefined, path: string, request: AdministrativeRequest): Promise<ApiResponse> => {
  if (!entry) return notFoundPage();
  const isFolder = path === '' || path.endsWith('/');
  if (entry.kind === 'folder') return isFolder ? listing(entry) : redirect(`${path.slice(path.lastIndexOf('/') + 1)}/`, request);
  if (!isFolder) return fileResponse(entry, path, request);
  await entry[Symbol.asyncDispose]();
  return redirect(`../${path.replace(/\/+$/, '').split('/').at(-1)}`, request);
};

const redirect = (to: string, {request: {url}}: AdministrativeRequest): ApiResponse => ({
  status: 301,
  headers: {Location: `${to.split('/').map(encodeURIComponent).join('/')}${/\?.+$/s.exec(url)?.[0] ?? ''}`},
  body: {kind: 'empty'},
});

/** Returns the names in a directory as an HTML page with links. */
const listing = ({names, isWhole}: Extract<LogEntry, {kind: 'folder'}>): ApiResponse => {
  const links = names.map(({name, isFolder}) => {
    const shown = `${name}${isFolder ? '/' : ''}`;
    const address = shown.split('/').map(encodeURIComponent).join('/');
    return `<a href="${htmlEscaped(name.includes(':') ? `./${address}` : address)}">${htmlEscaped(shown)}</a>\n`;
  });
  const rest = isWhole ? '' : 'and more\n';
  return text(
    `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${links.join('')}${rest}</pre>\n`,
    200,
    'text/html; charset=utf-8',
  );
};

/** Returns the content type of a file. The original determines compressed ones by extension. */
const typeOf = (path: string, start: Buffer): string => {
  const type = sniffedType(start);
  return type === 'application/x-gzip' && path.endsWith('.gz') ? 'application/gzip' : type;
};

/** Returns the requested byte range of a file; undefined if it is not satisfiable. */
const partOf = (range: string, bytes: number): {readonly from: number; readonly length: number} | undefined => {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range) ?? [];
  if (first === '' && last === '') return {from: 0, length: bytes};
  const from = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  const to = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  return from >= bytes || to < from ? undefined : {from, length: to - from + 1};
};

const fileResponse = async (
  file: Extract<LogEntry, {kind: 'file'}>,
  path: string,
  {request}: AdministrativeRequest,
): Promise<ApiResponse> => {
  const {bytes, modifiedAt} = file;
  try {
    const range = request.headers['range'];
    const part = typeof range === 'string' ? partOf(range, bytes) : {from: 0, length: bytes};
    const headers = {'Accept-Ranges': 'bytes', 'Last-Modified': new Date(modifiedAt).toUTCString()};
    if (!part) {
      await file[Symbol.asyncDispose]();
      return {...text('invalid range: failed to overlap\n', 416), headers: {'Content-Range': `bytes */${bytes}`}};
    }
    const since = Date.parse(String(request.headers['if-modified-since'] ?? ''));
    if (since >= Math.floor(modifiedAt / 1000) * 1000) {
      await file[Symbol.asyncDispose]();
      return {status: 304, headers, body: {kind: 'empty'}};
    }
    const type = typeOf(path, await file.start(Math.min(sniffedBytes, bytes)));
    const isPart = part.length < bytes;
    const own = isPart ? {'Content-Range': `bytes ${part.from}-${part.from + part.length - 1}/${bytes}`} : {};
    if (part.length === 0) {
      await file[Symbol.asyncDispose]();
      return {status: 200, headers, body: {kind: 'bytes', bytes: '', contentType: type}};
    }
    return {
      status: isPart ? 206 : 200,
      headers: {...headers, ...own, 'Content-Type': type, 'Content-Length': String(part.length)},
      body: {kind: 'stream', source: file.read(part.from, part.length)},
    };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
};
