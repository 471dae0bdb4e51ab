import {seededRandom} from '#src/base/random.js';
import {LabelTranslator} from '#src/platlet/selinux/label-translator.js';

const contexts = '/usr/share/containers/selinux/contexts';

/** The file of labels of a machine with Fedora's policy. */
export const fedora = `# labels of containers
process = "system_u:system_r:container_t:s0"
content = "system_u:object_r:virt_var_lib_t:s0"
file = "system_u:object_r:container_file_t:s0"
ro_file="system_u:object_r:container_ro_file_t:s0"
`;

/** What a machine with SELinux has of it: files by path. */
export const selinuxHost = (files: Readonly<Record<string, string>> = {[contexts]: fedora}, isEnabled = true) => ({
  isSelinuxEnabled: () => Promise.resolve(isEnabled),
  read: async (path: string) => (files[path] === undefined ? undefined : Buffer.from(files[path])),
});

/** Translates by the policy of a machine. */
export const aTranslator = (...host: Parameters<typeof selinuxHost>): LabelTranslator =>
  new LabelTranslator(selinuxHost(...host), seededRandom(1));
