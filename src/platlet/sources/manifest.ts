import {messageOf} from '#src/base/message.js';
import {ManifestError} from './static-pod.js';

/**
 * Parses a manifest in JSON or YAML. The YAML parser is loaded only for text that is not JSON. Throws `ManifestError`.
 */
export const parseManifest = async (text: string): Promise<unknown> => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const {parseYaml} = await import('#src/base/yaml/parse.js');
    try {
      return parseYaml(text).value;
    } catch (error) {
      throw new ManifestError(messageOf(error), {cause: error});
    }
  }
};
