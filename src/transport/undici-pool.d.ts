// The package's main entry point also loads fetch, caches and web sockets: three times the cost of the pool alone.
declare module 'undici/lib/dispatcher/pool.js' {
  export {Pool as default} from 'undici';
}
declare module 'undici/lib/dispatcher/proxy-agent.js' {
  export {ProxyAgent as default} from 'undici';
}
