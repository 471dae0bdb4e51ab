import type {ApiResponse} from '#src/api/request.js';
import type {Authorizer} from '#src/api/authorization.js';
import {methodUnknown} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {jsonText, type AdministrativeRequest} from '#src/serving/administration/route.js';
import {textOverWebSocket, wantsWebSocket} from '#src/serving/streams/websocket-text.js';
import {objectsAt, type StoredObjects} from './objects.js';
import {readQuery} from './query.js';
import {readPage} from './read.js';
import type {Recorder} from './recorder.js';
import {recordStream} from './stream.js';
import {Visible} from './visible.js';

/** The root of the read API. */
const root = '/recorder/v1';

export interface ReadApiParts {
  readonly recorder: Recorder;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly stored: StoredObjects;
}

/** The read API of a recorder: answers requests that are authorized for its path, at `/recorder/v1` and below. */
export class ReadApi {
  /** The paths that it answers. */
  static readonly paths: readonly string[] = [root, `${root}/records`, `${root}/objects`];
  readonly #parts: ReadApiParts;

  constructor(parts: ReadApiParts) {
    this.#parts = parts;
  }

  async answer({path, method, query: given, request}: AdministrativeRequest, user: UserInfo): Promise<ApiResponse> {
    if (method !== 'GET' && method !== 'HEAD') throw methodUnknown();
    const {recorder, authorizer, clock, stored} = this.#parts;
    if (path === root) return jsonText(recorder.info());
    const query = readQuery(given);
    const visible = () => new Visible(authorizer, user, path);
    const own = visible();
    if (path === `${root}/objects`)
      return jsonText(await objectsAt(query, given, {recorder, clock, stored, mayList: object => own.mayList(object)}));
    if (!isYes(given.get('watch'))) return jsonText(await readPage(query, given, {recorder, clock, shown: record => own.shown(record)}));
    const last = Number(request.headers['last-event-id']);
    const source = recordStream(Number.isSafeInteger(last) && last > 0 ? {...query, after: last} : query, {recorder, clock, visible});
    // Of connections that stay open, browsers have few to one server, but many WebSockets.
    if (wantsWebSocket(request)) return textOverWebSocket(request, source, clock);
    const headers = {'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache, private', 'X-Content-Type-Options': 'nosniff'};
    return {status: 200, headers, body: {kind: 'stream', source}};
  }
}

const isYes = (value: string | null): boolean => value === '1' || value === 'true';
