/** Its own module, so that it is loaded only for settings that are not JSON, and as the bundler understands: a lazily imported CommonJS package loses its names. */
export {parse as parseYaml} from 'yaml';
