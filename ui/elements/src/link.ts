/** A safe link target: an http(s) URL or a path; undefined for anything else. */
export function safeLink(link: string | null): string | undefined {
  if (!link || !/^(https?:\/\/|\/)/i.test(link)) return undefined;
  try {
    return /^https?:$/.test(new URL(link, document.baseURI).protocol) ? link : undefined;
  } catch {
    return undefined;
  }
}

/** A safe picture URL: https only. */
export function safePicture(address: string | null | undefined): string | undefined {
  return address && /^https:\/\//i.test(address) ? address : undefined;
}
