// What a browser sends to a console.

import http from 'node:http';
import type {ServedConsole} from '#src/console/served-console.js';

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
  /** Asks for an upgrade to a WebSocket. */
  readonly upgrades?: boolean;
}

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': Buffer.alloc(16).toString('base64'),
};

/** Sends a request with exactly these headers, besides `Host`. */
export const send = (
  {url}: Pick<ServedConsole, 'url'>,
  path: string,
  {method = 'GET', headers = {}, body, upgrades}: Sent = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const {hostname, port} = new URL(url);
    const given = Object.entries({...(upgrades ? handshake : {}), ...headers}).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const request = http.request({host: hostname, port, path, method, headers: Object.fromEntries(given), agent: false});
    request.on('error', reject);
    request.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve({status: response.statusCode!, headers: response.headers, text: ''});
    });
    request.on('response', response => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({status: response.statusCode!, headers: response.headers, text}));
    });
    request.end(body);
  });

/** A page with a session. */
export interface TestPage {
  readonly cookie: string;
  readonly csrf: string;
  /** Sends a request as the page does. */
  send(path: string, sent?: Sent): Promise<Answer>;
}

/** Opens a link: redeems its token, and reads the session. */
export const openPage = async (console: ServedConsole, link = console.link()): Promise<TestPage> => {
  const {origin, hash} = new URL(link);
  const token = hash.slice('#token='.length);
  const redeemed = await send(console, '/console/v1/session', {method: 'POST', headers: {origin}, body: JSON.stringify({token})});
  if (redeemed.status !== 200) throw new Error(`the link was refused with ${redeemed.status}`);
  const cookie = (redeemed.headers['set-cookie']?.[0] ?? '').split(';')[0]!;
  const {csrf} = JSON.parse((await send(console, '/console/v1/session', {headers: {cookie}})).text) as {csrf: string};
  return {
    cookie,
    csrf,
    send: (path, {headers, ...more} = {}) => send(console, path, {...more, headers: {cookie, origin, 'x-plat-console': csrf, ...headers}}),
  };
};
