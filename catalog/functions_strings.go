package catalog

import (
	"fmt"

	"github.com/weir-sql/weir/types"
)

func init() {
	const g, re, enc = "String", "Regular expression", "Hash and encoding"
	str := is(types.StringType)
	maybe := nullable(types.StringType)
	register(
		scalar(g, "||", "a || b", "Two strings (or BYTES) joined.", resolveJoin),
		scalar(g, "CONCAT", "CONCAT(s, ...)", "Strings joined; NULL when one is NULL.", variadic(1, str, text)),
		scalar(g, "CONCAT_WS", "CONCAT_WS(separator, s, ...)", "The strings that are not NULL joined with a separator; NULL when the separator is.",
			variadic(1, func(_ Call, args []types.Type) types.Type { return types.StringType.WithNull(anyNullable(args)) }, text)),
		scalar(g, "CHAR_LENGTH", "CHAR_LENGTH(s)", "The number of characters.", sig(1, is(types.IntType), text), "CHARACTER_LENGTH"),
		scalar(g, "UPPER", "UPPER(s)", "s in upper case.", sig(1, first, text)),
		scalar(g, "LOWER", "LOWER(s)", "s in lower case.", sig(1, first, text)),
		scalar(g, "INITCAP", "INITCAP(s)", "s with the first letter of each word in upper case, the others in lower case; words are runs of ASCII letters and digits.",
			sig(1, first, text)),
		scalar(g, "POSITION", "POSITION(a IN s)", "Where a first stands in s, from 1; 0 when it does not.", sig(2, is(types.IntType), text, text)),
		scalar(g, "LOCATE", "LOCATE(a, s[, from])", "Where a first stands in s, from 1; 0 when it does not.", sig(2, is(types.IntType), text, text, integer)),
		scalar(g, "INSTR", "INSTR(s, a[, from[, n]])", "Where the n-th a stands in s, from 1; 0 when it does not. A negative from counts and searches from the end.",
			sig(2, is(types.IntType), text, text, integer, integer)),
		scalar(g, "TRIM", "TRIM([BOTH | LEADING | TRAILING] [chars FROM] s)", "s without the blanks (or the given characters) at its ends.", func(c Call) (Signature, error) {
			if len(c.Units) > 1 || len(c.Units) == 1 && c.Units[0] != "BOTH" && c.Units[0] != "LEADING" && c.Units[0] != "TRAILING" {
				return Signature{}, fmt.Errorf("TRIM takes BOTH, LEADING or TRAILING, not %s", c.Units[0])
			}
			return sig(1, varying, text, text)(c)
		}),
		scalar(g, "LTRIM", "LTRIM(s[, chars])", "s without the blanks (or the given characters) at its start.", sig(1, varying, text, text)),
		scalar(g, "RTRIM", "RTRIM(s[, chars])", "s without the blanks (or the given characters) at its end.", sig(1, varying, text, text)),
		scalar(g, "BTRIM", "BTRIM(s[, chars])", "s without the blanks (or the given characters) at both ends.", sig(1, str, text, text)),
		scalar(g, "REPEAT", "REPEAT(s, n)", "s n times.", sig(2, str, text, integer)),
		scalar(g, "OVERLAY", "OVERLAY(s PLACING r FROM i [FOR n])", "s with r in the place of n characters (those of r when not given) from i on; as in Flink nothing follows r when n is not positive.",
			sig(3, func(_ Call, args []types.Type) types.Type {
				n := min(int64(args[0].Length)+int64(args[1].Length), types.MaxLength)
				return types.VarCharOf(int(n)).WithNull(anyNullable(args))
			}, text, text, integer, integer)),
		scalar(g, "SUBSTRING", "SUBSTRING(s FROM i [FOR n])", "n characters of s from i on; a negative i counts from the end, a negative n gives NULL.",
			sig(2, func(c Call, args []types.Type) types.Type { return varyingOf(args[0]).WithNull(true) }, text, integer, integer), "SUBSTR"),
		scalar(g, "LEFT", "LEFT(s, n)", "The first n characters.", sig(2, func(c Call, args []types.Type) types.Type { return varyingOf(args[0]).WithNull(true) }, text, integer)),
		scalar(g, "RIGHT", "RIGHT(s, n)", "The last n characters.", sig(2, func(c Call, args []types.Type) types.Type { return varyingOf(args[0]).WithNull(true) }, text, integer)),
		scalar(g, "REPLACE", "REPLACE(s, from, to)", "s with every from replaced.", sig(3, str, text, text, text)),
		scalar(g, "TRANSLATE", "TRANSLATE(s, from, to)", "s with each character of from replaced by that at the same place of to, or dropped.",
			sig(3, func(_ Call, args []types.Type) types.Type { return types.StringType.WithNull(args[0].Nullable) }, text, text, text)),
		scalar(g, "LPAD", "LPAD(s, n, pad)", "s cut, or filled at the left, to n characters; NULL for a negative n or an empty pad.", sig(3, str, text, integer, text)),
		scalar(g, "RPAD", "RPAD(s, n, pad)", "s cut, or filled at the right, to n characters; NULL for a negative n or an empty pad.", sig(3, str, text, integer, text)),
		scalar(g, "REVERSE", "REVERSE(s)", "s backwards.", sig(1, maybe, text)),
		scalar(g, "ASCII", "ASCII(s)", "The first byte of s, as a signed number; 0 for ''.", sig(1, is(types.IntType), text)),
		scalar(g, "CHR", "CHR(n)", "The character with code n modulo 256; '' for a negative n.", sig(1, maybe, integer)),
		scalar(g, "STARTSWITH", "STARTSWITH(s, a)", "Whether s begins with a.", startsWith),
		scalar(g, "ENDSWITH", "ENDSWITH(s, a)", "Whether s ends in a.", startsWith),
		scalar(g, "SPLIT_INDEX", "SPLIT_INDEX(s, separator, i)", "Part i of s between separators (a string or the code of a character), from 0; NULL when there is none.",
			func(c Call) (Signature, error) {
				sep := text
				if len(c.Args) > 1 && c.Args[1].IsInteger() {
					sep = integer
				}
				return sig(3, maybe, text, sep, integer)(c)
			}),
		scalar(g, "SPLIT", "SPLIT(s, separator)", "The parts of s between separators as an array; its characters for an empty separator.",
			sig(2, is(types.ArrayOf(types.StringType)), text, text)),
		scalar(g, "STR_TO_MAP", "STR_TO_MAP(s[, pairs, keys])", "A map from a text of pairs; both separators are regular expressions, ',' and '=' when not given.",
			func(c Call) (Signature, error) {
				if len(c.Args) == 2 {
					return Signature{}, fmt.Errorf("STR_TO_MAP takes 1 or 3 arguments, not 2")
				}
				return sig(1, nullable(types.MapOf(types.StringType, types.StringType)), text, text, text)(c)
			}),
		scalar(g, "PRINTF", "PRINTF(pattern, x, ...)", "Values in a pattern of Java's Formatter; NULL when the pattern does not fit them.", variadic(1, maybe, text, anything)),
		scalar(g, "ELT", "ELT(n, a, b, ...)", "The n-th of the other arguments, from 1; NULL when there is none.", resolveElt),

		scalar(re, "REGEXP", "REGEXP(s, pattern)", "Whether a part of s matches a regular expression: Java's as far as RE2 has them; look-around, back-references, atomic groups and possessive quantifiers are refused.", sig(2, is(types.BooleanType), text, text)),
		scalar(re, "REGEXP_REPLACE", "REGEXP_REPLACE(s, pattern, to)", "s with every match replaced by to, which is plain text.", sig(3, str, text, text, text)),
		scalar(re, "REGEXP_EXTRACT", "REGEXP_EXTRACT(s, pattern[, group])", "The first match, or its group; NULL when there is none.", sig(2, maybe, text, text, integer)),
		scalar(re, "REGEXP_EXTRACT_ALL", "REGEXP_EXTRACT_ALL(s, pattern[, group])", "A group (1 when not given, 0 the whole) of all matches; NULL when there is no such group.",
			sig(2, nullable(types.ArrayOf(types.StringType)), text, text, integer)),
		scalar(re, "REGEXP_COUNT", "REGEXP_COUNT(s, pattern)", "The number of matches.", sig(2, nullable(types.IntType), text, text)),
		scalar(re, "REGEXP_INSTR", "REGEXP_INSTR(s, pattern)", "Where the first match stands, from 1; 0 when there is none.", sig(2, nullable(types.IntType), text, text)),
		scalar(re, "REGEXP_SUBSTR", "REGEXP_SUBSTR(s, pattern)", "The first match; NULL when there is none.", sig(2, maybe, text, text)),

		scalar("JSON", "JSON_QUOTE", "JSON_QUOTE(s)", "s as a JSON string, in ASCII.", sig(1, str, text)),
		scalar("JSON", "JSON_UNQUOTE", "JSON_UNQUOTE(s)", "The text of a JSON string; any other text as it is.", sig(1, str, text)),

		scalar(enc, "MD5", "MD5(s)", "The MD5 hash in hexadecimal.", sig(1, is(types.CharOf(32)), bytesOrText)),
		scalar(enc, "SHA1", "SHA1(s)", "The SHA-1 hash in hexadecimal.", sig(1, is(types.CharOf(40)), bytesOrText)),
		scalar(enc, "SHA224", "SHA224(s)", "The SHA-224 hash in hexadecimal.", sig(1, is(types.CharOf(56)), bytesOrText)),
		scalar(enc, "SHA256", "SHA256(s)", "The SHA-256 hash in hexadecimal.", sig(1, is(types.CharOf(64)), bytesOrText)),
		scalar(enc, "SHA384", "SHA384(s)", "The SHA-384 hash in hexadecimal.", sig(1, is(types.CharOf(96)), bytesOrText)),
		scalar(enc, "SHA512", "SHA512(s)", "The SHA-512 hash in hexadecimal.", sig(1, is(types.CharOf(128)), bytesOrText)),
		scalar(enc, "SHA2", "SHA2(s, bits)", "The SHA-2 hash of 224, 256, 384 or 512 bits in hexadecimal.", resolveSHA2),
		scalar(enc, "TO_BASE64", "TO_BASE64(s)", "s in base64.", sig(1, str, bytesOrText)),
		scalar(enc, "FROM_BASE64", "FROM_BASE64(s)", "The text of a base64 text; another text is an error.", sig(1, str, bytesOrText)),
		scalar(enc, "ENCODE", "ENCODE(s, charset)", "The bytes of s in UTF-8, US-ASCII, ISO-8859-1, UTF-16, UTF-16BE or UTF-16LE.", sig(2, is(types.BytesType), text, text)),
		scalar(enc, "DECODE", "DECODE(b, charset)", "The text of bytes in one of the character sets of ENCODE.", sig(2, str, binary, text)),
		scalar(enc, "URL_ENCODE", "URL_ENCODE(s)", "s in the encoding of URL queries.", sig(1, maybe, text)),
		scalar(enc, "URL_DECODE", "URL_DECODE(s)", "The text of an encoded URL query; NULL when it is none.", sig(1, maybe, text)),
		scalar(enc, "PARSE_URL", "PARSE_URL(url, part[, key])", "The part HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO of a URL; the value of a key of QUERY.",
			sig(2, maybe, text, text, text)),
	)
}

// resolveJoin resolves ||: lengths add up; two fixed ones stay fixed.
func resolveJoin(c Call) (Signature, error) {
	a, b, err := twoArgs(c)
	if err != nil {
		return Signature{}, err
	}
	if !(a.IsText() && b.IsText()) && !(a.IsBytes() && b.IsBytes()) {
		if c.Args[0].Kind == types.Null && c.Args[1].Kind == types.Null {
			return Signature{[]types.Type{types.StringType, types.StringType}, types.StringType}, nil
		}
		hint := "CAST one of them"
		if a.IsNumeric() || b.IsNumeric() {
			hint = "write CAST(... AS STRING) around the number"
		}
		return Signature{}, fmt.Errorf("cannot join %s || %s: %s", a.WithNull(true), b.WithNull(true), hint)
	}
	n := int(min(int64(a.Length)+int64(b.Length), types.MaxLength))
	var r types.Type
	switch {
	case a.Kind == types.Char && b.Kind == types.Char:
		r = types.CharOf(n)
	case a.IsText():
		r = types.VarCharOf(n)
	case a.Kind == types.Binary && b.Kind == types.Binary:
		r = types.BinaryOf(n)
	default:
		r = types.VarBinaryOf(n)
	}
	return Signature{[]types.Type{a, b}, r.WithNull(a.Nullable || b.Nullable)}, nil
}

// startsWith takes two strings or two BYTES.
func startsWith(c Call) (Signature, error) {
	s, err := sig(2, is(types.BooleanType), bytesOrText, bytesOrText)(c)
	if err == nil && c.Args[0].Kind != types.Null && c.Args[1].Kind != types.Null && s.Args[0].IsText() != s.Args[1].IsText() {
		return s, fmt.Errorf("%s takes two strings or two BYTES, not %s and %s", c.Name, s.Args[0].WithNull(true), s.Args[1].WithNull(true))
	}
	return s, err
}

func resolveElt(c Call) (Signature, error) {
	s, err := variadic(2, nullable(types.StringType), integer, bytesOrText)(c)
	if err != nil {
		return s, err
	}
	t, ok := types.CommonArgsAll(s.Args[1:])
	if !ok {
		return s, fmt.Errorf("%s takes strings or BYTES, not both", c.Name)
	}
	s.Result = t.WithNull(true)
	for i := range s.Args[1:] {
		s.Args[i+1] = t.WithNull(s.Args[i+1].Nullable)
	}
	return s, nil
}

func resolveSHA2(c Call) (Signature, error) {
	s, err := sig(2, is(types.VarCharOf(128)), bytesOrText, integer)(c)
	if n, ok := literalInt(c, 1); err == nil && ok && n != 224 && n != 256 && n != 384 && n != 512 {
		return s, fmt.Errorf("SHA2 has 224, 256, 384 or 512 bits, not %d", n)
	}
	return s, err
}
