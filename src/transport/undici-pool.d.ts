// Parts of the package are imported by their files, which its public paths do not have; its exact version is fixed in package.json.

declare module 'undici/lib/dispatcher/pool.js' {
  export {Pool as default} from 'undici';
}
declare module 'undici/lib/core/socks5-client.js' {
  import type {EventEmitter} from 'node:events';
  import type {Socket} from 'node:net';

  /** Emits 'authenticated', 'connected', 'error' and 'close'. */
  export class Socks5Client extends EventEmitter {
    constructor(socket: Socket, credentials: {readonly username: string; readonly password: string});
    handshake(): void;
    connect(host: string, port: number): void;
  }
}
