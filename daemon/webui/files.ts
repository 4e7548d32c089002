// Reads text from a file that the user chooses, and saves text and bytes as downloads.

/** Offers `text` as a download named `name`. */
export function saveText(name: string, text: string): void {
  save(name, new Blob([text], { type: 'text/plain;charset=utf-8' }));
}

/** Offers `bytes` as a download named `name`. */
export function saveBytes(name: string, bytes: Uint8Array<ArrayBuffer>): void {
  save(name, new Blob([bytes], { type: 'application/octet-stream' }));
}

function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // by then, the download has begun
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Asks the user for a text file; resolves with its text, or with null if the user chose no file. */
export function chooseText(): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const input = document.createElement('input');
    input.type = 'file';
    input.accept = 'text/plain,.txt,.toml,.json,.csv';
    input.addEventListener('cancel', () => resolve(null));
    input.addEventListener('change', () => {
      const file = input.files?.[0];
      if (file) file.text().then(resolve, reject);
      else resolve(null);
    });
    input.click();
  });
}
