// The library's front door loads fetch, caches and web sockets with it: three times the cost of its pool.
declare module 'undici/lib/dispatcher/pool.js' {
  export {Pool as default} from 'undici';
}
declare module 'undici/lib/dispatcher/proxy-agent.js' {
  export {ProxyAgent as default} from 'undici';
}
